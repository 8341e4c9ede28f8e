//! Token lines, under libFuzzer.
#![cfg_attr(fuzzing, no_main)]

moorline_fuzz::target!(moorline_fuzz::shard_token::run);
