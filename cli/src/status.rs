use tenure::Inspection;

use crate::{
    args,
    exit::{self, Failure},
    manual::print,
    run::{held_by, holder_fields},
    store::{self, Address},
};

/// Says who holds a lock. Exits 0 if nobody does.
pub(crate) async fn main(args: args::Status) -> Result<u8, Failure> {
    let name = store::lock_name(&args.name)?;
    let address = Address::of(args.store)?;
    let store = address.open().await?.store();
    let seen = store.inspect(&name).await.map_err(Failure::unavailable)?;
    let text = if args.json {
        let mut object = holder_fields(&seen);
        object["name"] = args.name.to_string_lossy().into();
        format!("{object}\n")
    } else {
        format!("{}\n", held_by(&seen))
    };
    print(text.as_bytes())?;
    Ok(if matches!(seen, Inspection::Held { .. }) { exit::BUSY } else { 0 })
}
