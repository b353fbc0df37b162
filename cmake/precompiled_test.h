#pragma once

// What tests read, for KUSARI_PCH_PROGRAMS. None counts on it: each includes what it uses.

#include <doctest/doctest.h>

#include "kusari/cmake/precompiled_program.h"
