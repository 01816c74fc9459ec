//! Other libraries' clients as opponents on the same lock.

use anyhow::Result;

use crate::{
    redis::Redis,
    report::Report,
    setup,
    shell::{cargo, command, run, target},
};

/// Runs every opponent.
pub(crate) fn steps(report: &mut Report) {
    report.step("interop: redis-py", redis_py);
}

fn redis_py() -> Result<()> {
    run(&mut cargo(["build", "--quiet", "--package", "tenure-cli", "--locked"]))?;
    let redis = Redis::start()?;
    let mut script = command(setup::python()?);
    script.arg("tests/interop/redis_py.py");
    script.env("TENURE", target().join("debug/tenure"));
    run(script.env("TENURE_STORE", redis.url()))
}
