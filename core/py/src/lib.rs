//! The PyO3 border: conversion only, one error mapping.
