//! Runs of overlapping polls, under libFuzzer.
#![cfg_attr(fuzzing, no_main)]

moorline_fuzz::target!(moorline_fuzz::placement_sequence::run);
