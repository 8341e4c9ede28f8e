//! Runs of messages over a shared pipe, under libFuzzer.
#![cfg_attr(fuzzing, no_main)]

moorline_fuzz::target!(moorline_fuzz::pipe_sequence::run);
