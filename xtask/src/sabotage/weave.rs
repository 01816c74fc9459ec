use std::ops::Range;

use anyhow::{Context as _, Result, bail};

use super::mutant::Mutant;

/// The source text with every mutant of this file in it, each behind a choice at run time.
pub(super) fn weave(source: &str, mutants: &[&Mutant]) -> Result<String> {
    let mut edits = Vec::new();
    for mutant in mutants {
        let place = place_of(mutant, source)
            .with_context(|| format!("mutant {} in {}", mutant.name, mutant.file.display()))?;
        edits.push(Edit { place, mutant });
    }
    // From the outermost to the innermost, so that one choice encloses the next.
    edits.sort_by_key(|edit| (edit.place.start, usize::MAX - edit.place.end, edit.mutant.number));
    let mut open: Vec<&Edit<'_>> = Vec::new();
    let mut woven = String::new();
    let mut at = 0;
    let mut copy_to = |end: usize, woven: &mut String| {
        woven.push_str(source.get(at..end).unwrap_or_default());
        at = end;
    };
    for edit in &edits {
        while let Some(outer) = open.pop_if(|outer| outer.place.end <= edit.place.start) {
            copy_to(outer.place.end, &mut woven);
            woven.push_str(outer.after());
        }
        if let Some(outer) = open.last().filter(|outer| outer.place.end < edit.place.end) {
            bail!("mutants {} and {} overlap", outer.mutant.name, edit.mutant.name);
        }
        copy_to(edit.place.start, &mut woven);
        woven.push_str(&edit.before());
        open.push(edit);
    }
    while let Some(outer) = open.pop() {
        copy_to(outer.place.end, &mut woven);
        woven.push_str(outer.after());
    }
    copy_to(source.len(), &mut woven);
    Ok(woven)
}

/// The same text with functions that are not evaluated at compile time, when nothing is chosen yet.
pub(super) fn at_run_time(source: &str) -> String {
    // `Drift::DEFAULT` is made by it.
    const FOR_CONSTANTS: &str = "const fn from_ppm(";
    let parts: Vec<_> =
        source.split(FOR_CONSTANTS).map(|part| part.replace("const fn ", "fn ")).collect();
    parts.join(FOR_CONSTANTS)
}

struct Edit<'a> {
    place: Range<usize>,
    mutant: &'a Mutant,
}

impl Edit<'_> {
    fn before(&self) -> String {
        let Mutant { number, replace, .. } = self.mutant;
        let open = if self.is_expression() { "(" } else { "" };
        format!("{open}if tenure_sabotage::is({number}) {{ {replace} }} else {{ ")
    }

    fn after(&self) -> &'static str {
        if self.is_expression() { " })" } else { " }" }
    }

    /// Statements need no parentheses, and may not have them.
    fn is_expression(&self) -> bool {
        !self.mutant.find.trim_end().ends_with([';', '}'])
    }
}

fn place_of(mutant: &Mutant, source: &str) -> Result<Range<usize>> {
    let Some(after) = &mutant.after else { return only(places(&mutant.find, source), "find") };
    let from = only(places(after, source), "after")?.end;
    let mut places = places(&mutant.find, source).into_iter();
    places.find(|place| place.start >= from).context("`find` does not follow `after`")
}

fn only(mut places: Vec<Range<usize>>, what: &str) -> Result<Range<usize>> {
    match (places.pop(), places.len()) {
        (Some(place), 0) => Ok(place),
        (None, _) => bail!("there is no `{what}`"),
        (Some(_), others) => bail!("`{what}` must be there once, and is {} times", others + 1),
    }
}

/// Where the words stand in the text, whatever the space between them.
fn places(words: &str, text: &str) -> Vec<Range<usize>> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let first = words.first().copied().unwrap_or_default();
    let starts = text.match_indices(first).map(|(start, _)| start);
    starts.filter_map(|start| Some(start..end_of(&words, text, start)?)).collect()
}

fn end_of(words: &[&str], text: &str, start: usize) -> Option<usize> {
    let mut rest = text.get(start..)?;
    for (number, word) in words.iter().enumerate() {
        let trimmed = rest.trim_start();
        if number > 0 && trimmed.len() == rest.len() {
            return None;
        }
        rest = trimmed.strip_prefix(word)?;
    }
    Some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(find: &str, replace: &str) -> Mutant {
        let name = format!("{find} to {replace}");
        toml::from_str(&format!(
            "name = {name:?}\nwhy = ''\nfile = 'a.rs'\nkilled_by = []\nfind = {find:?}\nreplace = {replace:?}"
        ))
        .unwrap()
    }

    fn woven(source: &str, mutants: &[Mutant]) -> Result<String> {
        weave(source, &mutants.iter().collect::<Vec<_>>())
    }

    #[test]
    fn an_expression_is_put_into_parentheses_and_a_statement_is_not() {
        let source = "a(1 +\n    2);";
        assert_eq!(
            woven(source, &[mutant("1 + 2", "3")]).unwrap(),
            "a((if tenure_sabotage::is(0) { 3 } else { 1 +\n    2 }));"
        );
        assert_eq!(
            woven(source, &[mutant("a(1 + 2);", "")]).unwrap(),
            "if tenure_sabotage::is(0) {  } else { a(1 +\n    2); }"
        );
    }

    #[test]
    fn one_place_may_have_many_and_one_may_lie_in_another() {
        let mutants = [mutant("b", "c"), mutant("a + b", "d"), mutant("b", "e")];
        let (inner, outer) = (
            "(if tenure_sabotage::is(0) { c } else { (if tenure_sabotage::is(0) { e } else { b }) })",
            "(if tenure_sabotage::is(0) { d } else { a + ",
        );
        assert_eq!(woven("(a + b)", &mutants).unwrap(), format!("({outer}{inner} }}))"));
    }

    #[test]
    fn what_is_not_there_or_there_twice_is_refused_by_its_name() {
        for source in ["c", "a b a b", "ab"] {
            let error = woven(source, &[mutant("a b", "c")]).unwrap_err();
            assert!(error.to_string().contains("a b to c"), "{error}");
        }
        assert!(woven("a b c", &[mutant("a b", ""), mutant("b c", "")]).is_err(), "they overlap");
    }

    #[test]
    fn the_text_before_it_tells_which_is_meant() {
        let second = Mutant { after: Some("fn g".into()), ..mutant("a", "b") };
        let woven = woven("fn f { a } fn g { a } fn h { a }", &[second]).unwrap();
        assert_eq!(
            woven,
            "fn f { a } fn g { (if tenure_sabotage::is(0) { b } else { a }) } fn h { a }"
        );
    }

    #[test]
    fn nothing_is_chosen_at_compile_time() {
        assert_eq!(at_run_time("const fn f() {} const A: u8"), "fn f() {} const A: u8");
        assert_eq!(at_run_time("const fn from_ppm(p)"), "const fn from_ppm(p)");
    }
}
