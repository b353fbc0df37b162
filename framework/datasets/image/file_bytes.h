#pragma once

#include <cstdint>
#include <vector>

namespace kusari::datasets {

/// The calling thread's room for the bytes of one file, until it reads the next one.
std::vector<uint8_t>& file_bytes();

}  // namespace kusari::datasets
