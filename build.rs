//! Options of the linker, and `cfg(development)` for what only builds for development do.
//!
//! A position-independent program of this size has a quarter of a million addresses to fill in each time it starts, which touches a
//! thousand pages and takes longer than `review --version` does. Builds for development start thousands of times in the tests and need no
//! randomized addresses; a static release keeps those, in the packed form that its C library reads itself.

use std::env::var;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|said| said == value);
    println!("cargo:rustc-check-cfg=cfg(development)");
    if is("PROFILE", "debug") {
        println!("cargo:rustc-cfg=development");
    }
    if !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        println!("cargo:rustc-link-arg-tests=-no-pie");
    }
    if is("CARGO_CFG_TARGET_ENV", "musl") {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
