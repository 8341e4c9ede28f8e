//! Deliveries of a command's messages, under libFuzzer.
#![cfg_attr(fuzzing, no_main)]

moorline_fuzz::target!(moorline_fuzz::delivery_sequence::run);
