use redis::{ErrorKind, RedisError, ServerError};
use tenure_core::Failure;
use tenure_dialects::redis::ErrorReply;
use tenure_store::StoreError;

use crate::address::Address;

/// No connection could be made: whatever was to be asked never left.
pub(crate) fn not_connected(address: &Address, error: &RedisError) -> StoreError {
    if let Some(refused) = refused(address, error) {
        return if refused.failure() == Failure::Unknown {
            StoreError::not_sent(refused)
        } else {
            refused
        };
    }
    if error.kind() == ErrorKind::RESP3NotSupported {
        return StoreError::refused(format!("{address}: {}", ErrorReply::read(b"NOPROTO")));
    }
    if error.kind() == ErrorKind::Io {
        return StoreError::not_sent(format!("{address}: {error}"));
    }
    // The library's words about what it received may repeat what it sent.
    StoreError::not_sent(format!("{address}: cannot log in ({:?})", error.kind()))
}

/// What an error reply means, if `error` is one.
pub(crate) fn refused(address: &Address, error: &RedisError) -> Option<StoreError> {
    let line = line(error.code()?, error.detail());
    let reply = ErrorReply::read(line.as_bytes());
    Some(StoreError::new(reply.failure(), format!("{address}: {reply}")))
}

/// The connection ended after the request had left.
pub(crate) fn cut_off(address: &Address, error: &RedisError) -> StoreError {
    StoreError::unknown(format!("{address}: no answer, it may have been executed: {error}"))
}

/// An error reply as the server sent it, without the `-`.
pub(crate) fn line_of(error: &ServerError) -> String {
    line(error.code(), error.details())
}

fn line(code: &str, details: Option<&str>) -> String {
    details.map_or_else(|| code.to_owned(), |details| format!("{code} {details}"))
}
