#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure_fuzz_replay::run("redis_conversation", bytes));
