//! What the help and the man page say besides the options.

/// A heading and its text, of at most 72 columns, for a man page.
pub(crate) type Section = (&'static str, &'static str);

/// The sections as the end of a help text.
pub(crate) fn text(sections: &[Section]) -> String {
    let indented = |text: &str| text.replace('\n', "\n  ").replace("\n  \n", "\n\n");
    let sections: Vec<String> = sections
        .iter()
        .map(|(heading, text)| format!("{heading}:\n  {}", indented(text)))
        .collect();
    sections.join("\n\n")
}

/// Of `tenure run`.
pub(crate) const RUN: [Section; 6] = [
    (
        "The command",
        "\
It finds the lock's name in TENURE_NAME and the fencing token in
TENURE_TOKEN, a number that is higher for every holder than for the one
before. Pass the token along with every write, and let the resource
refuse a lower one than it has seen. Standard input and outputs are the
command's own, and so is the terminal. TENURE_STORE is not passed on.

As with flock(1), the lock is kept as long as anything that the command
has started still runs, in the background or not. tenure ends after the
last of it, with the command's exit code.",
    ),
    (
        "When the lease cannot be kept",
        "\
The command's process group gets TERM when the grace begins. A quarter
of the grace before the deadline, but at most 200 ms, everything that
the command has started is killed. If the store says that the lease is
gone, TERM comes at once, and the end after the grace.

A watchdog process does this, even if tenure itself is stopped; if
tenure is killed, the watchdog kills the command at once. If the
watchdog is killed, tenure kills the command and exits 71. What runs as
another user cannot be killed; the lock of a file store is kept until it
ends.",
    ),
    (
        "Signals",
        "\
HUP, INT, QUIT, TERM, USR1, USR2, WINCH, TSTP and CONT are passed on to
the command's process group. A run that is suspended does not renew its
lease, so its command is killed when the term ends (a file store has no
term).",
    ),
    (
        "Exit status",
        "\
The command's own, or 128 + n if signal n ended it, or
 64  the command line makes no sense
 69  the store cannot be reached, or refuses
 70  the lease was lost, and the command stopped
 71  the system refuses what is needed to stop the command in time
 75  somebody else has the lock (see -E)
126  the command cannot be executed
127  the command was not found",
    ),
    (
        "Environment",
        "\
TENURE_STORE    the store, if there is neither --store nor --store-file
XDG_STATE_HOME  the default file store is tenure/locks in this folder,
                or in ~/.local/state",
    ),
    (
        "Examples",
        "\
tenure run nightly-backup -- ./backup.sh
tenure run --no-wait --store redis://cache.example deploy -- make",
    ),
];
