/// Where a cluster sends a client to that asked the wrong node. The request was not executed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved<'a> {
    /// The hash slot.
    pub slot: u16,
    /// The host of the node that has it; `None` if the node does not know, and it is the host that
    /// was asked.
    pub host: Option<&'a str>,
    /// Its port.
    pub port: u16,
}

impl<'a> Moved<'a> {
    /// Reads an error reply, without its leading `-`: `MOVED slot host:port`.
    #[must_use]
    pub fn read(line: &'a [u8]) -> Option<Self> {
        let line = core::str::from_utf8(line).ok()?;
        let (slot, address) = line.strip_prefix("MOVED ")?.split_once(' ')?;
        // From the right: an IPv6 address has colons of its own.
        let (host, port) = address.rsplit_once(':')?;
        let host = if matches!(host, "" | "?") { None } else { Some(host) };
        let slot = slot.parse().ok().filter(|&slot| slot < super::SLOTS)?;
        Some(Self { slot, host, port: port.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirections_are_read() {
        let moved = |host, port| Some(Moved { slot: 3999, host, port });
        for (line, wanted) in [
            ("MOVED 3999 127.0.0.1:6381", moved(Some("127.0.0.1"), 6381)),
            ("MOVED 3999 ::1:6381", moved(Some("::1"), 6381)),
            ("MOVED 3999 node.example:6381", moved(Some("node.example"), 6381)),
            ("MOVED 3999 :6381", moved(None, 6381)),
            ("MOVED 3999 ?:6381", moved(None, 6381)),
            ("ASK 3999 127.0.0.1:6381", None),
            ("MOVED 16384 127.0.0.1:6381", None),
            ("MOVED 3999 127.0.0.1", None),
            ("MOVED 3999 127.0.0.1:65536", None),
            ("MOVED 3999", None),
            ("MOVED", None),
        ] {
            assert_eq!(Moved::read(line.as_bytes()), wanted, "{line}");
        }
    }
}
