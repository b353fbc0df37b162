#pragma once

#include <iosfwd>
#include <string>

#include "kusari/framework/core/export.h"

namespace kusari {

/// What a bug report should begin with, a line each: Platform, Kusari, Eigen, CPU (instruction set, threads), oneDNN,
/// CUDA (versions, cuDNN, devices). What this build or machine lacks is "Not Available".
KUSARI_API std::string runtime_info();
/// Writes runtime_info() to the standard output, or to `out`. chainer.print_runtime_info.
KUSARI_API void print_runtime_info();
KUSARI_API void print_runtime_info(std::ostream& out);

}  // namespace kusari
