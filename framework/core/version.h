#pragma once

// The version of these headers, which CMake reads here as well. Below 1.0 a new minor version may change the interface.
#define KUSARI_VERSION_MAJOR 0
#define KUSARI_VERSION_MINOR 1
#define KUSARI_VERSION_PATCH 0

/// The same as text.
#define KUSARI_VERSION "0.1.0"
