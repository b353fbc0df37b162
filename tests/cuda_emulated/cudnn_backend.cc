// The part of cuDNN's backend API that cuda/ calls, for the emulated device: descriptors, the checks of graphs, and two
// engines.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "cudnn_error.h"
#include "cudnn_graph.h"
#include "device_memory.h"
#include "kusari/framework/core/error.h"
#include "settings.h"
#include "stream_queue.h"
#include "thread_device.h"

using namespace kusari::cuda::emulated;

namespace {

using Content = CudnnContent;
using Attribute = CudnnContent::Attribute;

struct Descriptor {
  std::shared_ptr<Content> content;
};
Descriptor& descriptor_of(cudnnBackendDescriptor_t raw) { return *static_cast<Descriptor*>(raw); }

/// Which attributes there are.
struct Rule {
  cudnnBackendDescriptorType_t owner;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  bool is_needed;
};
#define OF(owner, name, type, is_needed) \
  {CUDNN_BACKEND_##owner##_DESCRIPTOR, CUDNN_ATTR_##name, CUDNN_TYPE_##type, is_needed},
constexpr Rule kRules[] = {
    OF(TENSOR, TENSOR_DATA_TYPE, DATA_TYPE, true) OF(TENSOR, TENSOR_DIMENSIONS, INT64, true) OF(
        TENSOR, TENSOR_STRIDES, INT64, true) OF(TENSOR, TENSOR_UNIQUE_ID, INT64, true)
        OF(TENSOR, TENSOR_BYTE_ALIGNMENT, INT64, true) OF(TENSOR, TENSOR_IS_VIRTUAL, BOOLEAN, false) OF(
            CONVOLUTION, CONVOLUTION_SPATIAL_DIMS, INT64, true) OF(CONVOLUTION, CONVOLUTION_COMP_TYPE, DATA_TYPE, true)
            OF(CONVOLUTION, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE, true) OF(
                CONVOLUTION, CONVOLUTION_PRE_PADDINGS, INT64, true) OF(CONVOLUTION, CONVOLUTION_POST_PADDINGS, INT64,
                                                                       true)
                OF(CONVOLUTION, CONVOLUTION_DILATIONS, INT64, true) OF(CONVOLUTION, CONVOLUTION_FILTER_STRIDES, INT64,
                                                                       true)
                    OF(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_CONV_DESC, BACKEND_DESCRIPTOR, true)
                        OF(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_X, BACKEND_DESCRIPTOR, true) OF(
                            OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_W, BACKEND_DESCRIPTOR,
                            true) OF(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_Y, BACKEND_DESCRIPTOR,
                                     true) OF(OPERATION_CONVOLUTION_BACKWARD_DATA,
                                              OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, BACKEND_DESCRIPTOR,
                                              true) OF(OPERATION_CONVOLUTION_BACKWARD_DATA,
                                                       OPERATION_CONVOLUTION_BWD_DATA_DX, BACKEND_DESCRIPTOR, true)
                            OF(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_W,
                               BACKEND_DESCRIPTOR, true) OF(OPERATION_CONVOLUTION_BACKWARD_DATA,
                                                            OPERATION_CONVOLUTION_BWD_DATA_DY, BACKEND_DESCRIPTOR, true)
                                OF(OPERATION_CONVOLUTION_BACKWARD_FILTER, OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                   BACKEND_DESCRIPTOR,
                                   true) OF(OPERATION_CONVOLUTION_BACKWARD_FILTER, OPERATION_CONVOLUTION_BWD_FILTER_X,
                                            BACKEND_DESCRIPTOR,
                                            true) OF(OPERATION_CONVOLUTION_BACKWARD_FILTER,
                                                     OPERATION_CONVOLUTION_BWD_FILTER_DW, BACKEND_DESCRIPTOR,
                                                     true) OF(OPERATION_CONVOLUTION_BACKWARD_FILTER,
                                                              OPERATION_CONVOLUTION_BWD_FILTER_DY, BACKEND_DESCRIPTOR,
                                                              true) OF(POINTWISE, POINTWISE_MODE, POINTWISE_MODE, true)
                                    OF(POINTWISE, POINTWISE_MATH_PREC, DATA_TYPE, true) OF(
                                        OPERATION_POINTWISE, OPERATION_POINTWISE_PW_DESCRIPTOR, BACKEND_DESCRIPTOR,
                                        true) OF(OPERATION_POINTWISE, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR,
                                                 true) OF(OPERATION_POINTWISE, OPERATION_POINTWISE_BDESC,
                                                          BACKEND_DESCRIPTOR, false)
                                        OF(OPERATION_GEN_STATS, OPERATION_GENSTATS_MODE, GENSTATS_MODE, true) OF(
                                            OPERATION_GEN_STATS, OPERATION_GENSTATS_MATH_PREC, DATA_TYPE,
                                            true) OF(OPERATION_GEN_STATS, OPERATION_GENSTATS_XDESC, BACKEND_DESCRIPTOR,
                                                     true) OF(OPERATION_GEN_STATS, OPERATION_GENSTATS_SUMDESC,
                                                              BACKEND_DESCRIPTOR, true)
                                            OF(OPERATION_GEN_STATS, OPERATION_GENSTATS_SQSUMDESC, BACKEND_DESCRIPTOR,
                                               true) OF(OPERATION_POINTWISE, OPERATION_POINTWISE_YDESC,
                                                        BACKEND_DESCRIPTOR, true) OF(OPERATIONGRAPH, OPERATIONGRAPH_OPS,
                                                                                     BACKEND_DESCRIPTOR, true)
                                                OF(OPERATIONGRAPH, OPERATIONGRAPH_HANDLE, HANDLE, false) OF(
                                                    DEVICEPROP,
                                                    DEVICEPROP_JSON_REPRESENTATION, CHAR,
                                                    true) OF(ENGINEHEUR, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR,
                                                             true) OF(ENGINEHEUR, ENGINEHEUR_MODE, HEUR_MODE, true)
                                                    OF(ENGINEHEUR, ENGINEHEUR_DEVICEPROP, BACKEND_DESCRIPTOR, false) OF(
                                                        ENGINE, ENGINE_OPERATION_GRAPH, BACKEND_DESCRIPTOR,
                                                        true) OF(ENGINE, ENGINE_GLOBAL_INDEX, INT64, true)
                                                        OF(ENGINE, ENGINE_DEVICEPROP, BACKEND_DESCRIPTOR,
                                                           false) OF(ENGINECFG, ENGINECFG_ENGINE, BACKEND_DESCRIPTOR,
                                                                     true) OF(ENGINECFG, ENGINECFG_KNOB_CHOICES,
                                                                              BACKEND_DESCRIPTOR, false)
                                                            OF(KNOB_CHOICE, KNOB_CHOICE_KNOB_TYPE, KNOB_TYPE, true) OF(
                                                                KNOB_CHOICE, KNOB_CHOICE_KNOB_VALUE, INT64,
                                                                true) OF(EXECUTION_PLAN, EXECUTION_PLAN_ENGINE_CONFIG,
                                                                         BACKEND_DESCRIPTOR, true)
                                                                OF(EXECUTION_PLAN, EXECUTION_PLAN_HANDLE, HANDLE, false)
                                                                    OF(EXECUTION_PLAN, EXECUTION_PLAN_DEVICEPROP,
                                                                       BACKEND_DESCRIPTOR, false)
                                                                        OF(VARIANT_PACK, VARIANT_PACK_UNIQUE_IDS, INT64,
                                                                           true)
                                                                            OF(VARIANT_PACK, VARIANT_PACK_DATA_POINTERS,
                                                                               VOID_PTR, true)
                                                                                OF(VARIANT_PACK, VARIANT_PACK_WORKSPACE,
                                                                                   VOID_PTR, false)};
#undef OF

size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_CHAR:
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    default:
      return 4;
  }
}

cudnnStatus_t bad(const std::string& message) { return cudnn_failure(CUDNN_STATUS_BAD_PARAM, message.c_str()); }

/// Scales of a convolution are of the type that it computes in, which the rules cannot say.
bool is_scale(const Content& content, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
  const CudnnConvolutionNames* const names = convolution_names(content.type);
  return names != nullptr && (name == names->alpha || name == names->beta) &&
         (type == CUDNN_TYPE_FLOAT || type == CUDNN_TYPE_DOUBLE);
}

template <class T>
void put(Content& content, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
         const std::vector<T>& values) {
  Attribute& a = content.attributes[name];
  a.type = type;
  a.count = static_cast<int64_t>(values.size());
  const auto* const bytes = reinterpret_cast<const char*>(values.data());
  a.bytes.assign(bytes, bytes + values.size() * sizeof(T));
}
void put(Content& content, cudnnBackendAttributeName_t name, std::vector<std::shared_ptr<const Content>> values) {
  Attribute& a = content.attributes[name];
  a.type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  a.count = static_cast<int64_t>(values.size());
  a.contents = std::move(values);
}

// --- finalizing ---

cudnnStatus_t finalize_tensor(const Content& content) {
  const CudnnTensor t(content);
  if (t.axes() < 3 || t.axes() > 5 || t.strides.size() != t.shape.size()) {
    return bad("a tensor has 3 to 5 axes, each with a stride");
  }
  for (const int64_t size : t.shape) {
    if (size <= 0) return bad("an axis of a tensor has no elements");
  }
  if (t.alignment <= 0 || (t.alignment & (t.alignment - 1)) != 0) return bad("an alignment is a power of two");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_geometry(const Content& content) {
  const auto axes = static_cast<size_t>(content.value<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0));
  if (axes < 1 || axes > 3) return bad("a convolution has 1 to 3 spatial axes");
  for (const auto name : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                          CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES}) {
    const std::vector<int64_t> values = content.values<int64_t>(name);
    if (values.size() != axes) return bad("paddings, dilations and strides are one for each spatial axis");
    const bool may_be_zero =
        name == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS || name == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS;
    for (const int64_t v : values) {
      if (v < (may_be_zero ? 0 : 1)) return bad("a padding is negative, or a dilation or stride not positive");
    }
  }
  const auto compute = content.value(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  if (compute != CUDNN_DATA_FLOAT && compute != CUDNN_DATA_DOUBLE)
    return bad("convolutions compute in float or double");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_convolution(const Content& content, const CudnnConvolutionNames& names) {
  const Content& geometry = content.at(names.geometry);
  const CudnnTensor x(content.at(names.x)), w(content.at(names.w)), y(content.at(names.y));
  const int64_t spatial = geometry.value<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0);
  if (x.axes() != spatial + 2 || w.axes() != x.axes() || y.axes() != x.axes()) {
    return bad("x, w and y have two axes more than the convolution");
  }
  if (x.shape[1] % w.shape[1] != 0 || y.shape[1] != w.shape[0] || w.shape[0] % (x.shape[1] / w.shape[1]) != 0 ||
      x.shape[0] != y.shape[0]) {
    return bad("batches or channels of x, w and y do not fit together");
  }
  const auto before = geometry.values<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const auto after = geometry.values<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  const auto dilation = geometry.values<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  const auto stride = geometry.values<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  for (size_t i = 0; i < static_cast<size_t>(spatial); ++i) {
    const int64_t room = x.shape[i + 2] + before[i] + after[i] - ((w.shape[i + 2] - 1) * dilation[i] + 1);
    if (room < 0 || y.shape[i + 2] != room / stride[i] + 1)
      return bad("the size of y is not what x, w and padding give");
  }
  const bool is_double = geometry.value(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT) == CUDNN_DATA_DOUBLE;
  for (const auto name : {names.alpha, names.beta}) {
    const Attribute* const scale = content.find(name);
    if (scale == nullptr) return bad("a convolution needs alpha and beta");
    if (scale->type != (is_double ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT)) return bad("alpha or beta has a wrong type");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_pointwise(const Content& content) {
  const CudnnTensor x(content.at(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
  const CudnnTensor y(content.at(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  const auto mode = content.at(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                        .value(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_IDENTITY);
  const bool is_binary = mode == CUDNN_POINTWISE_ADD || mode == CUDNN_POINTWISE_MUL;
  if (!is_binary && mode != CUDNN_POINTWISE_RELU_FWD && mode != CUDNN_POINTWISE_IDENTITY) {
    return cudnn_failure(CUDNN_STATUS_NOT_SUPPORTED, "the emulated device lacks this pointwise mode");
  }
  if (x.shape != y.shape) return bad("x and y of a pointwise operation have different shapes");
  if (is_binary != content.has_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) {
    return bad("a pointwise operation has b if it takes two operands, and only then");
  }
  if (!is_binary) return CUDNN_STATUS_SUCCESS;
  const CudnnTensor b(content.at(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
  if (b.axes() != y.axes()) return bad("b of a pointwise operation has another number of axes");
  for (size_t i = 0; i < b.shape.size(); ++i) {
    if (b.shape[i] != 1 && b.shape[i] != y.shape[i]) return bad("b of a pointwise operation cannot be broadcast");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_statistics(const Content& content) {
  const CudnnTensor x(content.at(CUDNN_ATTR_OPERATION_GENSTATS_XDESC));
  for (const auto name : {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC}) {
    const CudnnTensor sums(content.at(name));
    if (sums.axes() != x.axes() || sums.size() != x.shape[1] || sums.shape[1] != x.shape[1]) {
      return bad("sums of channels have the channels of x and no other axis");
    }
    if (sums.type != CUDNN_DATA_FLOAT) return bad("sums of channels are float");
  }
  return CUDNN_STATUS_SUCCESS;
}

constexpr int64_t kEngines = 2;
constexpr int64_t kWorkspaceOfEngine[kEngines] = {0, 4096};

bool has_tensor_cores(const Content& engine) { return engine.value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0) == 1; }

cudnnStatus_t finalize_engine(Content& content) {
  const Content& graph = content.at(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  const int64_t index = content.value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
  if (index < 0 || index >= kEngines) return bad("there is no such engine");
  if (const char* obstacle = find_obstacle(graph)) return cudnn_failure(CUDNN_STATUS_NOT_SUPPORTED, obstacle);
  std::vector<cudnnBackendNumericalNote_t> notes;
  if (index == 1) {
    const Content& first = convolution_of(graph);
    notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
    if (CudnnTensor(first.at(convolution_names(first.type)->x)).type == CUDNN_DATA_FLOAT) {
      notes.push_back(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
    }
    if (first.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR) {
      notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    }
  }
  put(content, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, notes);
  put(content, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, std::vector<cudnnBackendBehaviorNote_t>());
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_heuristics(Content& content) {
  const auto& graph = content.find(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->contents.front();
  if (graph->find(CUDNN_ATTR_OPERATIONGRAPH_HANDLE) == nullptr &&
      !content.has_descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP)) {
    return bad("heuristics need a handle or the properties of a device");
  }
  if (const char* obstacle = find_obstacle(*graph)) return cudnn_failure(CUDNN_STATUS_NOT_SUPPORTED, obstacle);
  const bool is_fallback = content.value(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A) == CUDNN_HEUR_MODE_FALLBACK;
  std::vector<std::shared_ptr<const Content>> configs;
  for (int64_t index = is_fallback ? 0 : kEngines - 1; index >= 0; --index) {
    const auto engine = std::make_shared<Content>();
    engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
    put(*engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {graph});
    put(*engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, std::vector<int64_t>{index});
    if (const cudnnStatus_t status = finalize_engine(*engine); status != CUDNN_STATUS_SUCCESS) return status;
    engine->is_finalized = true;
    const auto config = std::make_shared<Content>();
    config->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
    put(*config, CUDNN_ATTR_ENGINECFG_ENGINE, {engine});
    std::vector<std::shared_ptr<const Content>> knobs;
    if (index == 1) {
      const auto knob = std::make_shared<Content>();
      knob->type = CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
      put(*knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
          std::vector<cudnnBackendKnobType_t>{CUDNN_KNOB_TYPE_TILE_SIZE});
      put(*knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, std::vector<int64_t>{3});
      knob->is_finalized = true;
      knobs.push_back(knob);
    }
    put(*config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs);
    config->is_finalized = true;
    configs.push_back(config);
  }
  put(content, CUDNN_ATTR_ENGINEHEUR_RESULTS, configs);
  return CUDNN_STATUS_SUCCESS;
}

// As on a card, the engine with tensor cores makes a copy of 16-bit images whose channels do not fill packs of 8.
int64_t workspace_of(const Content& engine) {
  const int64_t index = engine.value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0);
  int64_t bytes = kWorkspaceOfEngine[index];
  if (index == 0) return bytes;
  const Content& graph = engine.at(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  const Content& first = convolution_of(graph);
  const CudnnTensor x(first.at(convolution_names(first.type)->x));
  const bool is_half = x.type == CUDNN_DATA_HALF || x.type == CUDNN_DATA_BFLOAT16;
  if (!is_half || x.shape[1] % 8 == 0) return bytes;
  int64_t elements = (x.shape[1] + 7) / 8 * 8;
  for (size_t i = 0; i < x.shape.size(); ++i) elements *= i == 1 ? 1 : x.shape[i];
  return bytes + 2 * elements;
}

cudnnStatus_t finalize_plan(Content& content) {
  if (content.find(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) == nullptr &&
      !content.has_descriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP)) {
    return bad("a plan needs a handle or the properties of a device");
  }
  const Content& engine = content.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).at(CUDNN_ATTR_ENGINECFG_ENGINE);
  put(content, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, std::vector<int64_t>{workspace_of(engine)});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize(Content& content) {
  if (content.is_finalized) return bad("the descriptor is finalized already");
  for (const Rule& rule : kRules) {
    if (rule.owner != content.type || !rule.is_needed || content.find(rule.name) != nullptr) continue;
    return bad("attribute " + std::to_string(rule.name) + " is missing");
  }
  if (const CudnnConvolutionNames* names = convolution_names(content.type))
    return finalize_convolution(content, *names);
  switch (content.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return finalize_tensor(content);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return finalize_geometry(content);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return finalize_pointwise(content);
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return finalize_statistics(content);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return finalize_engine(content);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return finalize_heuristics(content);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return finalize_plan(content);
    default:
      return CUDNN_STATUS_SUCCESS;
  }
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* raw) {
  auto* const descriptor = new Descriptor{std::make_shared<Content>()};
  descriptor->content->type = type;
  *raw = descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t raw) {
  delete static_cast<Descriptor*>(raw);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t raw, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  Content& content = *descriptor_of(raw).content;
  if (content.is_finalized) return bad("the descriptor is finalized already");
  if (count < 0 || (count > 0 && values == nullptr)) return bad("no values");
  const auto rule = std::find_if(std::begin(kRules), std::end(kRules),
                                 [&](const Rule& r) { return r.owner == content.type && r.name == name; });
  if (rule == std::end(kRules) ? !is_scale(content, name, type) : rule->type != type) {
    return bad("attribute " + std::to_string(name) + " does not exist or has another type");
  }
  Attribute a{type, count, {}, {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* const raws = static_cast<const cudnnBackendDescriptor_t*>(values);
    for (int64_t i = 0; i < count; ++i) {
      const auto& inner = descriptor_of(raws[i]).content;
      if (!inner->is_finalized) return bad("a descriptor inside is not finalized");
      a.contents.push_back(inner);
    }
  } else {
    const auto* const bytes = static_cast<const char*>(values);
    a.bytes.assign(bytes, bytes + static_cast<size_t>(count) * bytes_of(type));
  }
  content.attributes[name] = std::move(a);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t raw, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most, int64_t* count, void* values) {
  const Content& content = *descriptor_of(raw).content;
  if (!content.is_finalized) return bad("the descriptor is not finalized");
  const Attribute* const a = content.find(name);
  if (a == nullptr || a->type != type) return bad("attribute " + std::to_string(name) + " is not there");
  if (count != nullptr) *count = a->count;
  const int64_t given = std::min(most, a->count);
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    auto* const raws = static_cast<cudnnBackendDescriptor_t*>(values);
    for (int64_t i = 0; i < given; ++i) {
      descriptor_of(raws[i]).content = std::make_shared<Content>(*a->contents[static_cast<size_t>(i)]);
    }
  } else if (given > 0) {
    std::memcpy(values, a->bytes.data(), static_cast<size_t>(given) * bytes_of(type));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t raw) {
  Content& content = *descriptor_of(raw).content;
  const cudnnStatus_t status = finalize(content);
  if (status == CUDNN_STATUS_SUCCESS) content.is_finalized = true;
  return status;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t raw_plan,
                                  cudnnBackendDescriptor_t raw_pack) {
  const Content& plan = *descriptor_of(raw_plan).content;
  const std::shared_ptr<const Content> pack = descriptor_of(raw_pack).content;
  if (plan.value<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, nullptr) == nullptr || handle == nullptr) {
    return bad("the plan is for a device that is not here");
  }
  if (!plan.is_finalized || !pack->is_finalized) return bad("the plan or the variant pack is not finalized");
  cudaStream_t stream = nullptr;
  cudnnGetStream(handle, &stream);
  if (!can_call_library(stream)) return bad("the thread has no current device, or another than the stream's");
  if (settings().trace) std::fprintf(stderr, "device: cudnnBackendExecute\n");
  if (!settings().execute) return CUDNN_STATUS_SUCCESS;
  const Content& engine = plan.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).at(CUDNN_ATTR_ENGINECFG_ENGINE);
  const auto& graph = engine.find(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->contents.front();
  const bool in_tf32 = settings().rounds_tf32 && has_tensor_cores(engine);
  const auto needed = static_cast<size_t>(plan.value<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 0));
  void* const workspace = pack->value<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr);
  if (needed > 0 && device_of(workspace) < 0) return bad("the workspace is no device memory");
  const auto execute = [=] {
    const DeviceAccess access;
    if (needed > 0) std::memset(workspace, 0xff, needed);
    return execute_graph(*graph, *pack, in_tf32);
  };
  if (!keeps_work(stream)) return execute();
  const cudaError_t status = submit(stream, [execute] {
    if (execute() != CUDNN_STATUS_SUCCESS) throw kusari::DeviceError("cudnnBackendExecute");
  });
  return status == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
