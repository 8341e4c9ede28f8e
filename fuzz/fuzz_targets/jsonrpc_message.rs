//! JSON-RPC messages, under libFuzzer.
#![cfg_attr(fuzzing, no_main)]

moorline_fuzz::target!(moorline_fuzz::jsonrpc_message::run);
