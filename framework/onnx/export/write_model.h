#pragma once

#include <functional>
#include <span>
#include <string>

#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {

/// What onnx::export_model does; `append` may add nodes behind those of the model.
void write_model(const detail::ModelCall& call, Link* link, std::span<const Variable> inputs, const std::string& path,
                 const ExportOptions& options, const std::function<void(GraphBuilder&)>& append = {});

}  // namespace kusari::onnx::exporting
