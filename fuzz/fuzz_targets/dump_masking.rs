//! Field lines and bodies for a dump, under libFuzzer.
#![cfg_attr(fuzzing, no_main)]

moorline_fuzz::target!(moorline_fuzz::dump_masking::run);
