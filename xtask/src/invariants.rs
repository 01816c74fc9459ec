//! `docs/invariants.md` says where each invariant is tested. It must stay true.

use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::shell::root;

/// Every number has a row. In a row the files are there, and speak of the number, or hold the tests
/// that are named after them.
pub(crate) fn are_tested_where_the_docs_say() -> Result<()> {
    let docs = fs::read_to_string(root().join("docs/invariants.md"))?;
    let (_, table) = docs.split_once("\n## Where each is tested\n").context("no such section")?;
    let wrong: Vec<String> = numbers().filter_map(|number| fault(table, &number)).collect();
    if !wrong.is_empty() {
        bail!("docs/invariants.md: {}", wrong.join("; "));
    }
    Ok(())
}

/// Whether `docs/invariants.md` states a rule of this number.
pub(crate) fn is_documented(number: &str) -> Result<bool> {
    let docs = fs::read_to_string(root().join("docs/invariants.md"))?;
    Ok(docs.lines().any(|line| line.starts_with(&format!("| {number} |"))))
}

fn fault(table: &str, number: &str) -> Option<String> {
    let Some(row) = table.lines().find(|line| line.starts_with(&format!("| {number} |"))) else {
        return Some(format!("{number} has no row"));
    };
    let mut code = row.split('`').skip(1).step_by(2).peekable();
    while let Some(path) = code.next() {
        let text = fs::read_to_string(root().join(path)).unwrap_or_default();
        let mut wanted = Vec::new();
        while let Some(test) = code.next_if(|word| !word.contains('/')) {
            wanted.push(test);
        }
        if wanted.is_empty() {
            wanted.push(number);
        }
        if let Some(missing) = wanted.iter().find(|word| !speaks_of(&text, word)) {
            return Some(format!("{path} does not speak of {missing} ({number})"));
        }
    }
    None
}

fn numbers() -> impl Iterator<Item = String> {
    let series = [('S', 30), ('L', 8), ('D', 8), ('C', 6)];
    series.into_iter().flat_map(|(letter, last)| (1..=last).map(move |n| format!("{letter}{n}")))
}

fn speaks_of(text: &str, number: &str) -> bool {
    let part_of_a_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c: char| !part_of_a_word(c)).any(|word| word == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_whole_word() {
        assert!(speaks_of("// S1: never two", "S1"));
        assert!(!speaks_of("// S10, S11 and S1x", "S1"));
    }

    #[test]
    fn all_numbers_are_asked_for() {
        assert_eq!(numbers().count(), 52);
    }
}
