//! Checks what bots write, case by case.
