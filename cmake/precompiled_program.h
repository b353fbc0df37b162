#pragma once

// What programs read, for KUSARI_PCH_PROGRAMS. None counts on it: each includes what it uses.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>
