use std::io::{self, Write, stdout};

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::{
    Man,
    roff::{Roff, roman},
};

use crate::{
    args::Cli,
    exit::Failure,
    notes::{self, Section},
};

/// Prints the man page of `tenure`, or of its command of that name.
pub(crate) fn man(command: Option<&str>) -> Result<u8, Failure> {
    let mut root = Cli::command();
    root.build();
    let page = match command {
        None => root,
        Some(name) => root
            .find_subcommand(name)
            .cloned()
            .ok_or_else(|| Failure::usage(format_args!("tenure has no command {name:?}")))?,
    };
    let sections = if command == Some("run") { notes::RUN.as_slice() } else { &[] };
    let mut text = Vec::new();
    // The sections are in the page's help as well, as one text.
    Man::new(page.after_long_help(None))
        .render(&mut text)
        .and_then(|()| sections_as_roff(sections).to_writer(&mut text))
        .map_err(Failure::system)?;
    print(&text)
}

fn sections_as_roff(sections: &[Section]) -> Roff {
    let mut page = Roff::new();
    for (heading, text) in sections {
        page.control("SH", [heading.to_uppercase().as_str()]);
        // Their lines are set already.
        page.control("nf", []).text([roman(*text)]).control("fi", []);
    }
    page
}

/// Prints a completion script.
pub(crate) fn completions(shell: Shell) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tenure", &mut text);
    print(&text)
}

/// A reader that has seen enough (`tenure man | head`) is no error.
pub(crate) fn print(text: &[u8]) -> Result<u8, Failure> {
    match stdout().write_all(text).and_then(|()| stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::system(error)),
        Ok(()) | Err(_) => Ok(0),
    }
}
