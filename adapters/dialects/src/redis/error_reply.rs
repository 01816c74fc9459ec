use core::{error, fmt};

use tenure_core::Failure;

/// An error that the server answered with, and what it means for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorReply(&'static Rule);

impl ErrorReply {
    /// Reads an error reply, without its leading `-`.
    #[must_use]
    pub fn read(line: &[u8]) -> Self {
        let code = line.split(|&byte| byte == b' ').next().unwrap_or_default();
        let known = RULES.iter().find(|rule| {
            code == rule.code.as_bytes()
                && (rule.text.is_empty()
                    || line.windows(rule.text.len()).any(|part| part == rule.text.as_bytes()))
        });
        Self(known.unwrap_or(&UNKNOWN))
    }

    /// Its first word; empty if the error is not known here.
    #[must_use]
    pub const fn code(self) -> &'static str {
        self.0.code
    }

    /// May the server have executed the request?
    #[must_use]
    pub const fn failure(self) -> Failure {
        match self.0.meaning {
            Meaning::Later => Failure::Refused { permanent: false, retry_after: None },
            Meaning::Never => Failure::Refused { permanent: true, retry_after: None },
            Meaning::Unknown => Failure::Unknown,
        }
    }

    pub(super) fn is_no_script(self) -> bool {
        self.0.code == "NOSCRIPT"
    }
}

/// What happened and what to do, in our words: the server's may hold what the client sent, a password
/// among it.
impl fmt::Display for ErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { code, advice, .. } = self.0;
        if code.is_empty() { f.write_str(advice) } else { write!(f, "{advice} ({code})") }
    }
}

impl error::Error for ErrorReply {}

#[derive(Debug, PartialEq, Eq)]
struct Rule {
    /// The first word of the reply.
    code: &'static str,
    /// What the rest must contain; nothing if empty.
    text: &'static str,
    meaning: Meaning,
    advice: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// Not executed; asking again may help.
    Later,
    /// Not executed; asking again cannot help.
    Never,
    /// Perhaps executed.
    Unknown,
}

const UNKNOWN: Rule = Rule {
    code: "",
    text: "",
    meaning: Meaning::Unknown,
    advice: "the server answered with an error that Tenure does not know",
};

const fn rule(
    code: &'static str,
    text: &'static str,
    meaning: Meaning,
    advice: &'static str,
) -> Rule {
    Rule { code, text, meaning, advice }
}

/// The first that fits counts. That a reply means "not executed" rests on two facts: the server
/// checks these before it runs a command, and our scripts pass an error on before the write that
/// counts (see [`Script`](super::Script)).
#[rustfmt::skip]
const RULES: &[Rule] = &[
    rule("NOSCRIPT", "", Meaning::Later, "the server lost the script between two requests"),

    rule("READONLY", "", Meaning::Later, "this server is a replica: connect to the primary, or wait for the failover to end"),
    rule("MOVED", "", Meaning::Later, "another node of the cluster has this lock's hash slot"),
    rule("ASK", "", Meaning::Later, "this lock's hash slot is moving to another node of the cluster"),
    rule("TRYAGAIN", "", Meaning::Later, "this lock's hash slot is moving to another node of the cluster"),
    rule("CLUSTERDOWN", "", Meaning::Later, "the cluster is down: see CLUSTER INFO"),
    rule("MASTERDOWN", "", Meaning::Later, "the replica has lost its primary"),
    rule("LOADING", "", Meaning::Later, "the server is loading its data"),
    rule("MISCONF", "", Meaning::Later, "the server cannot save to disk and refuses writes: see its log"),
    rule("NOREPLICAS", "", Meaning::Later, "too few replicas follow the server: see min-replicas-to-write"),
    rule("OOM", "", Meaning::Later, "the server has no memory left: see maxmemory"),
    rule("BUSY", "", Meaning::Later, "the server is busy with somebody's script: see SCRIPT KILL"),
    rule("TENURENODE", "", Meaning::Later, "this server is not the node of a quorum that it was: it has lost its data, or another took its address; it does not vote until it is readmitted"),
    rule("ERR", "max number of clients reached", Meaning::Later, "the server has too many clients: see maxclients"),

    rule("NOAUTH", "", Meaning::Never, "the server wants a password: put it into the address, redis://user:password@host"),
    rule("WRONGPASS", "", Meaning::Never, "the server does not accept this user and password"),
    rule("ERR", "without any password configured", Meaning::Never, "the server has no password set: leave it out of the address"),
    rule("NOPERM", "", Meaning::Never, "this user lacks a right: it needs EVAL, EVALSHA, GET, SET, INCR, PTTL, PEXPIRE, DEL and PUBLISH on the lock's key, on ~__tenure:* and on &__tenure:*, and for RedLock HGET, HMGET, HGETALL, HSET and EXISTS on ~__tenure:*"),
    rule("ERR", "can't run this command", Meaning::Never, "this user lacks a right: it needs EVAL, EVALSHA, GET, SET, INCR, PTTL, PEXPIRE, DEL and PUBLISH on the lock's key and on ~__tenure:*"),
    rule("DENIED", "", Meaning::Never, "the server is in protected mode and refuses other hosts: set a password, or see protected-mode"),
    rule("WRONGTYPE", "", Meaning::Never, "the key is no lock: it holds a value of another kind; give the lock another name"),
    rule("CROSSSLOT", "", Meaning::Never, "this is a cluster, but INFO was refused, so it was taken for one server: allow +info"),
    rule("NOPROTO", "", Meaning::Never, "the server does not speak RESP3: Redis 6.0 or later is needed"),
    rule("TENURECOUNTER", "", Meaning::Never, "a token counter under __tenure:1: is no number from 1 to 9223372036854775806: find out who changed it, and set it above every token ever granted"),
    rule("TENUREFENCE", "", Meaning::Never, "the fence's key holds no token: find out who changed it, and set it to the highest token ever installed"),
    rule("ERR", "unknown command", Meaning::Never, "the server does not know a command: Redis 6.0 or later with scripts enabled is needed"),
    rule("ERR", "DB index is out of range", Meaning::Never, "the server has no database of this number: see `databases`"),
    rule("ERR", "invalid DB index", Meaning::Never, "the server has no database of this number: see `databases`"),
    rule("ERR", "SELECT is not allowed in cluster mode", Meaning::Never, "a cluster has database 0 only: leave the number out of the address"),
    rule("ERR", "invalid expire time", Meaning::Never, "the term is too long for the server"),
];

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    const LATER: Failure = Failure::Refused { permanent: false, retry_after: None };
    const NEVER: Failure = Failure::Refused { permanent: true, retry_after: None };

    #[test]
    fn every_error_has_its_class() {
        for (line, code, failure) in [
            ("READONLY You can't write against a read only replica.", "READONLY", LATER),
            ("MOVED 3999 127.0.0.1:6381", "MOVED", LATER),
            ("ASK 3999 127.0.0.1:6381", "ASK", LATER),
            ("TRYAGAIN Multiple keys request during rehashing of slot", "TRYAGAIN", LATER),
            ("CLUSTERDOWN Hash slot not served", "CLUSTERDOWN", LATER),
            ("MASTERDOWN Link with MASTER is down", "MASTERDOWN", LATER),
            ("LOADING Redis is loading the dataset in memory", "LOADING", LATER),
            ("MISCONF Redis is configured to save RDB snapshots, but", "MISCONF", LATER),
            ("NOREPLICAS Not enough good replicas to write.", "NOREPLICAS", LATER),
            ("OOM command not allowed when used memory > 'maxmemory'.", "OOM", LATER),
            ("BUSY Redis is busy running a script.", "BUSY", LATER),
            ("NOSCRIPT No matching script. Please use EVAL.", "NOSCRIPT", LATER),
            ("ERR max number of clients reached", "ERR", LATER),
            ("NOAUTH Authentication required.", "NOAUTH", NEVER),
            ("WRONGPASS invalid username-password pair or user is disabled.", "WRONGPASS", NEVER),
            ("NOPERM this user has no permissions to access one of the keys", "NOPERM", NEVER),
            ("WRONGTYPE Operation against a key holding the wrong kind", "WRONGTYPE", NEVER),
            ("CROSSSLOT Keys in request don't hash to the same slot", "CROSSSLOT", NEVER),
            ("DENIED Redis is running in protected mode", "DENIED", NEVER),
            ("NOPROTO unsupported protocol version", "NOPROTO", NEVER),
            ("TENURECOUNTER __tenure:1:token", "TENURECOUNTER", NEVER),
            ("TENURENODE __tenure:1:quorum", "TENURENODE", LATER),
            ("TENUREFENCE f", "TENUREFENCE", NEVER),
            ("ERR unknown command 'EVALSHA', with args beginning with: ", "ERR", NEVER),
            ("ERR DB index is out of range", "ERR", NEVER),
            ("ERR Error running script (call to f_): @user_script: 9", "", Failure::Unknown),
            ("ERR", "", Failure::Unknown),
            ("READONLYISH", "", Failure::Unknown),
            ("", "", Failure::Unknown),
        ] {
            let error = ErrorReply::read(line.as_bytes());
            assert_eq!((error.code(), error.failure()), (code, failure), "{line}");
        }
    }

    #[test]
    fn a_text_never_repeats_the_server() {
        let line = b"ERR unknown command 'HELLO', with args beginning with: 'AUTH' 'u' 'hunter2'";
        assert!(!ErrorReply::read(line).to_string().contains("hunter2"));
        assert!(!ErrorReply::read(b"WHAT hunter2").to_string().contains("hunter2"));
    }
}
