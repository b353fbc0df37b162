#pragma once

#include <string>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/inference/inference_session.h"

namespace kusari::inference {

/// Makes a session of the model in a file.
using Loader = Callable<InferenceSession(const std::string& path, const InferenceSessionOptions& options)>;

/// Lets open_session and the C interface read files whose names end in `extension`, such as ".onnx". A library that
/// knows a format calls it when it is loaded; a later loader takes the place of an earlier one.
KUSARI_API void register_loader(const std::string& extension, Loader loader);

/// Reads .onnx files too where libkusari_onnx is installed beside the library. Throws IoError when no loader knows the
/// file's extension, and what the loader throws.
KUSARI_API InferenceSession open_session(const std::string& path, const InferenceSessionOptions& options = {});

}  // namespace kusari::inference
