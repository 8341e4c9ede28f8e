//! `Retry-After` values, under libFuzzer.
#![cfg_attr(fuzzing, no_main)]

moorline_fuzz::target!(moorline_fuzz::retry_after::run);
