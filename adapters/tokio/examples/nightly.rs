//! A job that runs on one machine at a time. Start it twice, and stop one with ctrl-Z for a minute.
//!
//!     cargo run -p tenure --example nightly

use std::{env, error::Error, time::Duration};

use tenure::{Fencing, Lock, file::FileStore};
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = FileStore::open(env::temp_dir().join("tenure-nightly"))?;
    let lock = Lock::builder(store, "nightly")
        .term(Duration::from_secs(10))
        .require(Fencing::Durable)
        .on_contended(|contended| println!("waiting: {contended}"))
        .build()?;
    println!("{}", lock.config().worst_case());

    let guard = lock.acquire().await?;
    println!("running with token {}", guard.token());
    let work = async {
        for step in 1..=20 {
            println!("step {step} of 20");
            sleep(Duration::from_secs(1)).await;
        }
    };
    let stopped_early = tokio::select! {
        outcome = guard.run(work) => outcome.err(),
        stopping = guard.stopping() => {
            println!("stopping, {:?} left", stopping.remaining);
            None
        }
    };
    let released = guard.release().await;
    println!("released: {}", if released.confirmed { "yes" } else { "it had ended before" });
    stopped_early.map_or(Ok(()), |lost| Err(lost.into()))
}
