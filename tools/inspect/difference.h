#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kusari/tools/inspect/contents.h"

namespace inspect {

/// One entry in which two files differ.
struct Difference {
  std::string key, what;
  std::optional<double> largest;  // of |a - b|, where both are arrays of one shape
};

struct Tolerance {
  double absolute = 0, relative = 0;  // |a - b| <= absolute + relative * |b| is no difference
};

/// Keys are compared whatever separates their parts: "l1/W" of an .npz file is "l1.W" of a .safetensors file.
std::vector<Difference> differences(const Contents& a, const Contents& b, const Tolerance& tolerance);

}  // namespace inspect
