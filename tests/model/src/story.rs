use std::fmt;

/// What happened, line by line. Only told when a run is replayed: exploring is silent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    lines: Option<Vec<String>>,
}

impl Story {
    pub(crate) const fn silent() -> Self {
        Self { lines: None }
    }

    pub(crate) const fn told() -> Self {
        Self { lines: Some(Vec::new()) }
    }

    pub(crate) fn tell(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().flatten().try_for_each(|line| writeln!(f, "{line}"))
    }
}
