use std::fmt;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, ProtocolVersion};
use rustls::crypto::{CryptoProvider, ring};
use tenure_store::ConnectError;

/// Where the server is and who we are there. Shows no secret.
#[derive(Clone)]
pub(crate) struct Address(ConnectionInfo);

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, ConnectError> {
        let info = url.into_connection_info().map_err(|_| {
            // Neither the address nor the parser's words: both may hold the password.
            ConnectError::Invalid(
                "this is no address of a Redis server: write redis://host, \
                 redis://user:password@host:6379/0, rediss://host for TLS, or unix:///path/to/socket; \
                 in a password, write % as %25, @ as %40, : as %3A and / as %2F"
                    .into(),
            )
        })?;
        let settings = info
            .redis_settings()
            .clone()
            .set_protocol(ProtocolVersion::RESP3)
            .set_lib_name("tenure", env!("CARGO_PKG_VERSION"));
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        let address = Self(info.set_redis_settings(settings).set_tcp_settings(tcp));
        if address.is_tls() && CryptoProvider::get_default().is_none() {
            // Another thread may have been faster; then its choice counts.
            let _ = ring::default_provider().install_default();
        }
        Ok(address)
    }

    /// The same way in, at another node of the cluster; `None`: the same host.
    pub(crate) fn of_node(&self, host: Option<&str>, port: u16) -> Self {
        let node = |own: &str| host.unwrap_or(own).to_owned();
        let addr = match self.0.addr().clone() {
            ConnectionAddr::Tcp(own, _) => ConnectionAddr::Tcp(node(&own), port),
            ConnectionAddr::TcpTls { host: own, insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host: node(&own), port, insecure, tls_params }
            }
            ConnectionAddr::Unix(_) | _ => ConnectionAddr::Tcp(node("localhost"), port),
        };
        Self(self.0.clone().set_addr(addr))
    }

    pub(crate) fn is_tls(&self) -> bool {
        matches!(self.0.addr(), ConnectionAddr::TcpTls { .. })
    }

    pub(crate) fn connection_info(&self) -> &ConnectionInfo {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.addr().fmt(f)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (url, shown, tls) in [
            ("redis://localhost", "localhost:6379", false),
            ("redis://user:secret@10.0.0.1:7000/3", "10.0.0.1:7000", false),
            ("redis://:secret@[::1]:7000", "::1:7000", false),
            ("rediss://user:s%40cret@example.org", "example.org:6379", true),
            ("unix:///run/redis.sock?db=1&pass=secret", "/run/redis.sock", false),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!(address.to_string(), shown);
            assert_eq!(address.is_tls(), tls);
            assert!(!format!("{address:?}").contains("secret"));
        }
    }

    #[test]
    fn another_node_is_reached_as_the_first() {
        for (url, of_host, of_port) in [
            ("redis://localhost", "10.0.0.7:7001", "localhost:7001"),
            ("rediss://example.org", "10.0.0.7:7001", "example.org:7001"),
            ("unix:///run/redis.sock", "10.0.0.7:7001", "localhost:7001"),
        ] {
            let address = Address::parse(url).unwrap();
            let node = address.of_node(Some("10.0.0.7"), 7001);
            assert_eq!((node.to_string().as_str(), node.is_tls()), (of_host, address.is_tls()));
            assert_eq!(address.of_node(None, 7001).to_string(), of_port);
        }
    }

    #[test]
    fn a_bad_address_says_what_to_write_and_not_what_was_written() {
        for url in [
            "",
            "localhost:6379",
            "http://user:secret@host",
            "redis://",
            "redis://user:secret@host/secret",
            "redis://user:secret@host:secret",
            "redis://user:sec/ret@host",
            "redis://user:secret@host?protocol=secret",
            "rediss://user:secret@host#insecure-secret",
        ] {
            let Err(ConnectError::Invalid(text)) = Address::parse(url) else { panic!("{url}") };
            assert!(text.contains("redis://host") && !text.contains("secret"), "{text}");
        }
    }
}
