#pragma once

// All of the library kusari::onnx, which reads and writes ONNX files: `#include <kusari/onnx.h>`.

#include "kusari/framework/onnx/converter.h"
#include "kusari/framework/onnx/export_model.h"
#include "kusari/framework/onnx/function.h"
#include "kusari/framework/onnx/load.h"
