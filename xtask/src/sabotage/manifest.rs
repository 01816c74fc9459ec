//! The manifests of the copy: the project's own, with the switch among their dependencies.

use anyhow::{Context as _, Result};
use toml::{Table, Value};

/// The folder of the crate that tells which mutant was chosen.
pub(super) const SWITCH: &str = "switch";

pub(super) const OF_SWITCH: &str = "\
[package]
name = \"tenure-sabotage\"
edition = \"2024\"
";

/// The workspace's, with these members and the switch.
pub(super) fn of_workspace(manifest: &str, members: &[&str]) -> Result<String> {
    let mut manifest: Table = toml::from_str(manifest)?;
    let workspace = table(&mut manifest, "workspace")?;
    workspace.remove("default-members");
    let members = members.iter().chain([&SWITCH]).map(|&member| Value::from(member)).collect();
    workspace.insert("members".into(), Value::Array(members));
    let path = Table::from_iter([("path".to_owned(), Value::from(SWITCH))]);
    table(workspace, "dependencies")?.insert("tenure-sabotage".into(), Value::Table(path));
    Ok(toml::to_string(&manifest)?)
}

/// A member's, depending on the switch.
pub(super) fn with_switch(manifest: &str) -> Result<String> {
    let mut manifest: Table = toml::from_str(manifest)?;
    let inherited = Table::from_iter([("workspace".to_owned(), Value::from(true))]);
    table(&mut manifest, "dependencies")?.insert("tenure-sabotage".into(), Value::Table(inherited));
    Ok(toml::to_string(&manifest)?)
}

fn table<'a>(parent: &'a mut Table, name: &str) -> Result<&'a mut Table> {
    let table = parent.get_mut(name).and_then(Value::as_table_mut);
    table.with_context(|| format!("the manifest has no table {name}"))
}
