use redis::{Cmd, Value};
use tenure_dialects::redis::{Answer, Ask, Command, Conversation, Step};

use crate::failure::line_of;

/// `command` as the client library takes it.
pub(crate) fn packed(command: &Command<'_>) -> Cmd {
    let size: usize = command.args().map(<[u8]>::len).sum();
    let mut packed = Cmd::with_capacity(command.args().len(), size);
    for arg in command.args() {
        packed.arg(arg);
    }
    packed
}

/// Goes on with a conversation after `value`.
pub(crate) fn next<'a, A: Ask>(
    conversation: &mut Conversation<'a, A>,
    value: &Value,
) -> Step<'a, A::Reply> {
    if let Value::BulkString(text) = value {
        conversation.next(Answer::Text(text))
    } else if let Value::ServerError(error) = value {
        conversation.next(Answer::Error(line_of(error).as_bytes()))
    } else {
        conversation.next(Answer::Other)
    }
}
