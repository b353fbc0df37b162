#pragma once

#include <string>
#include <string_view>

#include "kusari/framework/core/export.h"
#include "kusari/framework/onnx/model.h"

namespace kusari::onnx {

/// A model from an ONNX file, of opset 1 to 28. External data must lie in the file's folder. Throws IoError for a file
/// that cannot be read, is damaged or is no ONNX model; ValueError naming all nodes that are not supported, each with
/// its operator and opset.
KUSARI_API Model load(const std::string& path);

/// The same from the bytes of a file. `folder`: where external data lies, by default the current one.
KUSARI_API Model load_bytes(std::string_view bytes, const std::string& folder = {});

/// The numbers of a file that holds a lone tensor (TensorProto), as ONNX's test cases do: input_0.pb. Integers of types
/// that Kusari has no dtype of become wider ones. Throws IoError for a file that cannot be read or is damaged,
/// TypeError for a type that no dtype holds.
KUSARI_API Array load_tensor(const std::string& path);

}  // namespace kusari::onnx
