#pragma once

#include <filesystem>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/onnx/read/mapped_file.h"
#include "kusari/framework/onnx/read/messages.h"

namespace kusari::onnx::read {

/// Where tensors come from: the model's name for messages, and its folder, in which external data lies.
struct TensorSource {
  std::string name;
  std::filesystem::path folder;
  const MappedFile* file = nullptr;  ///< which holds the model's bytes
  MappedWeights* weights = nullptr;  ///< keeps files over which arrays lie; null: numbers are copied
};

/// The numbers of a tensor, on the CPU, in the dtype that dtype_for() gives. Throws IoError for data that is not
/// exactly as long as the shape says, TypeError for a type that no dtype holds.
Array to_array(const Tensor& tensor, const TensorSource& source);

}  // namespace kusari::onnx::read
