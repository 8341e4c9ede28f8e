//! The planted fault, under libFuzzer.
#![cfg_attr(fuzzing, no_main)]

moorline_fuzz::target!(moorline_fuzz::canary::run);
