//! Whole responses, under libFuzzer.
#![cfg_attr(fuzzing, no_main)]

moorline_fuzz::target!(moorline_fuzz::poll_response::run);
