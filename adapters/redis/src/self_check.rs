use redis::{Pipeline, Value};
use tenure_dialects::redis::{Layout, Script};
use tenure_store::{ConnectError, Failover, Fairness, Fencing, Finding, Guarantees, Tenancy};

use crate::link::Connection;

/// Asks the server what it is set up for, and leaves `scripts` with it on the way.
pub(crate) async fn self_check(
    connection: &Connection,
    scripts: &[Script],
) -> Result<(Layout, Guarantees), ConnectError> {
    let mut questions = Pipeline::new();
    questions.cmd("INFO").cmd("CONFIG").arg("GET").arg("appendfsync");
    for script in scripts {
        questions.cmd("SCRIPT").arg("LOAD").arg(script.source);
    }
    let answers = connection.ask_all(&questions).await.map_err(ConnectError::Unreachable)?;
    let info = answers.first().and_then(text);
    let appendfsync = match answers.get(1) {
        Some(Value::Map(pairs)) => pairs.first().and_then(|(_, value)| text(value)),
        Some(_) | None => None,
    };
    assess(info, appendfsync)
}

fn text(value: &Value) -> Option<&str> {
    if let Value::BulkString(text) = value {
        str::from_utf8(text).ok()
    } else if let Value::VerbatimString { text, .. } = value {
        Some(text)
    } else {
        None
    }
}

/// What a lease is worth on a server with this `INFO` and this `appendfsync`, each `None` if we may
/// not know.
fn assess(
    info: Option<&str>,
    appendfsync: Option<&str>,
) -> Result<(Layout, Guarantees), ConnectError> {
    let Some(info) = info else {
        let finding = "INFO was refused, so nothing of this server could be checked: allow +info, and \
                       see that maxmemory-policy is noeviction";
        return Ok((Layout::Standalone, least(vec![Finding::new(finding)])));
    };
    let info = Info(info);
    if info.field("role") == Some("slave") {
        let primary = info.field("master_host").unwrap_or("?");
        let port = info.field("master_port").unwrap_or("?");
        return Err(ConnectError::Unsafe(format!(
            "this server is a replica and takes no locks: connect to its primary, {primary}:{port}"
        )));
    }
    let policy = info.field("maxmemory_policy").unwrap_or_default();
    if policy.starts_with("allkeys") {
        return Err(ConnectError::Unsafe(format!(
            "maxmemory-policy is {policy}: the server may evict the token counter, and the next \
             holder's token would go back; set it to noeviction, or give locks a server of their own"
        )));
    }

    let layout = match info.field("cluster_enabled") {
        Some("1") => Layout::Cluster,
        Some(_) | None => Layout::Standalone,
    };
    let durable = info.field("aof_enabled") == Some("1") && appendfsync == Some("always");
    let alone = layout == Layout::Standalone && info.field("connected_slaves") == Some("0");
    let mut guarantees = least(info.findings(appendfsync));
    if durable {
        guarantees.fencing = Fencing::Durable;
    }
    if alone {
        guarantees.failover = Failover::Impossible;
    }
    Ok((layout, guarantees))
}

/// What can be said of any server.
fn least(findings: Vec<Finding>) -> Guarantees {
    let mut guarantees =
        Guarantees::new(Fencing::LostWithData, Tenancy::Term, Failover::MayLose, Fairness::None);
    guarantees.findings = findings;
    guarantees
}

/// What `INFO` says: lines of `name:value`.
struct Info<'a>(&'a str);

impl<'a> Info<'a> {
    fn field(&self, name: &str) -> Option<&'a str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    }

    fn findings(&self, appendfsync: Option<&str>) -> Vec<Finding> {
        let policy = self.field("maxmemory_policy").filter(|policy| policy.starts_with("volatile"));
        let eviction = policy.map(|policy| {
            format!(
                "maxmemory-policy is {policy}: when memory is short the server may evict a lock that \
                 is held, and give it to another; set it to noeviction"
            )
        });
        let persistence = match (self.field("aof_enabled"), appendfsync) {
            (Some("1"), Some("always")) => None,
            (Some("1"), Some(_)) => Some(
                "appendfsync is not always: a crash may lose the last second, and with it a grant and \
                 its token; set it to always if tokens must never go back",
            ),
            (Some("1"), None) => Some(
                "CONFIG GET was refused, so it is not known how often the append-only file is synced: \
                 allow +config|get if tokens must never go back",
            ),
            _ => Some(
                "there is no append-only file: a crash loses what was granted since the last snapshot, \
                 and tokens go back; set appendonly to yes and appendfsync to always",
            ),
        };
        let version = self.field("redis_version").filter(|version| older_than(version, (6, 2)));
        let age = version
            .map(|version| format!("version {version} is no longer maintained: use 6.2 or later"));
        [eviction, persistence.map(str::to_owned), age]
            .into_iter()
            .flatten()
            .map(Finding::new)
            .collect()
    }
}

fn older_than(version: &str, floor: (u32, u32)) -> bool {
    let mut numbers = version.split('.').map(str::parse);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# Server\r\nredis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\n\
                        role:master\r\nconnected_slaves:0\r\naof_enabled:1\r\ncluster_enabled:0\r\n";

    fn with(from: &str, to: &str) -> (Layout, Guarantees) {
        assess(Some(&GOOD.replace(from, to)), Some("always")).unwrap()
    }

    #[test]
    fn a_good_server_has_no_findings() {
        let (layout, guarantees) = assess(Some(GOOD), Some("always")).unwrap();
        assert_eq!(layout, Layout::Standalone);
        assert_eq!(guarantees.fencing, Fencing::Durable);
        assert_eq!(guarantees.failover, Failover::Impossible);
        assert_eq!(guarantees.findings, []);
    }

    #[test]
    fn what_a_crash_loses_is_found() {
        for (aof, appendfsync, word) in [
            ("aof_enabled:1", Some("everysec"), "last second"),
            ("aof_enabled:1", Some("no"), "last second"),
            ("aof_enabled:1", None, "CONFIG GET was refused"),
            ("aof_enabled:0", Some("always"), "no append-only file"),
        ] {
            let info = GOOD.replace("aof_enabled:1", aof);
            let (_, guarantees) = assess(Some(&info), appendfsync).unwrap();
            assert_eq!(guarantees.fencing, Fencing::LostWithData);
            let [finding] = guarantees.findings.as_slice() else { panic!("{guarantees:?}") };
            assert!(finding.text.contains(word), "{finding}");
        }
    }

    #[test]
    fn eviction_is_refused_or_found() {
        for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-random"] {
            let info = GOOD.replace("noeviction", policy);
            let Err(ConnectError::Unsafe(text)) = assess(Some(&info), None) else { panic!() };
            assert!(text.contains(policy) && text.contains("noeviction"), "{text}");
        }
        let (_, guarantees) = with("noeviction", "volatile-ttl");
        assert!(guarantees.findings[0].text.contains("volatile-ttl"));
    }

    #[test]
    fn a_failover_may_lose_a_lease() {
        assert_eq!(with("connected_slaves:0", "connected_slaves:2").1.failover, Failover::MayLose);
        let (layout, guarantees) = with("cluster_enabled:0", "cluster_enabled:1");
        assert_eq!((layout, guarantees.failover), (Layout::Cluster, Failover::MayLose));
    }

    #[test]
    fn a_replica_is_refused() {
        let info =
            GOOD.replace("role:master", "role:slave\r\nmaster_host:10.0.0.7\r\nmaster_port:6380");
        let Err(ConnectError::Unsafe(text)) = assess(Some(&info), None) else { panic!() };
        assert!(text.contains("10.0.0.7:6380"), "{text}");
    }

    #[test]
    fn old_versions_are_found() {
        assert!(with("7.0.15", "6.0.16").1.findings[0].text.contains("6.0.16"));
        for version in ["6.2.0", "7.0.15", "10.1", "unstable"] {
            assert!(!older_than(version, (6, 2)), "{version}");
        }
    }

    #[test]
    fn nothing_is_claimed_of_a_server_that_may_not_be_asked() {
        let (layout, guarantees) = assess(None, None).unwrap();
        assert_eq!((layout, guarantees.fencing), (Layout::Standalone, Fencing::LostWithData));
        assert_eq!(guarantees.failover, Failover::MayLose);
        assert_eq!(guarantees.findings.len(), 1);
    }
}
