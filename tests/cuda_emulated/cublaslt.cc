// The part of cuBLASLt that cuda/ calls, for the emulated device: the checks of the true one, and plain loops.

#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "device_memory.h"
#include "element.h"
#include "settings.h"
#include "stream_queue.h"
#include "thread_device.h"

using namespace kusari::cuda::emulated;

struct cublasLtContext {};

namespace {

struct Layout {
  uint64_t rows, columns;
  int64_t step;
  int64_t batch_step;
  int32_t batch;
  cudaDataType type;
  cublasLtOrder_t order;

  int64_t row_stride() const { return order == CUBLASLT_ORDER_COL ? 1 : step; }
  int64_t column_stride() const { return order == CUBLASLT_ORDER_COL ? step : 1; }
  bool is_valid() const {
    const auto least = static_cast<int64_t>(order == CUBLASLT_ORDER_COL ? rows : columns);
    return rows > 0 && columns > 0 && step >= least && batch > 0;
  }
};
struct Operation {
  cublasComputeType_t compute;
  cudaDataType scale;
  int32_t transposes_a, transposes_b;
  cublasLtEpilogue_t epilogue;
  void* bias;
  cublasLtPointerMode_t pointer_mode;
};
struct Preference {
  uint64_t workspace;
  uint32_t alignment[4];  // A, B, C, D
  uint32_t reduction_schemes;
};
/// What an algorithm was found for, so that its use for something else is noticed.
struct Algorithm {
  uint64_t mark;
  uint64_t id;
  uint64_t workspace;
  uint32_t alignment[4];
  uint64_t problem;
};
constexpr uint64_t kMark = 0x656d756c61746564;
constexpr uint32_t kBiasAlignment = 16;
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t) &&
              sizeof(Operation) <= sizeof(cublasLtMatmulDescOpaque_t) &&
              sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t) &&
              sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

Layout& layout_of(cublasLtMatrixLayout_t raw) { return *reinterpret_cast<Layout*>(raw); }
Operation& operation_of(cublasLtMatmulDesc_t raw) { return *reinterpret_cast<Operation*>(raw); }
Preference& preference_of(cublasLtMatmulPreference_t raw) { return *reinterpret_cast<Preference*>(raw); }

template <class T>
cublasStatus_t assign(T& to, const void* from, size_t bytes) {
  if (from == nullptr || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, from, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

Element element_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return Element::half;
    case CUDA_R_16BF:
      return Element::bfloat16;
    case CUDA_R_64F:
      return Element::real;
    default:
      return Element::single;
  }
}

struct Problem {
  Operation operation;
  Layout a, b, c, d;

  int64_t rows() const { return static_cast<int64_t>(d.rows); }
  int64_t columns() const { return static_cast<int64_t>(d.columns); }
  int64_t depth() const { return static_cast<int64_t>(operation.transposes_a == CUBLAS_OP_N ? a.columns : a.rows); }
  bool has_bias() const { return (operation.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }
  bool has_bias_grad() const {
    return operation.epilogue == CUBLASLT_EPILOGUE_BGRADA || operation.epilogue == CUBLASLT_EPILOGUE_BGRADB;
  }
  uint64_t hash() const {
    uint64_t h = 14695981039346656037u;
    const auto add = [&h](uint64_t value) { h = (h ^ value) * 1099511628211u; };
    for (const Layout* l : {&a, &b, &c, &d}) {
      for (const uint64_t value :
           {l->rows, l->columns, static_cast<uint64_t>(l->step), static_cast<uint64_t>(l->batch_step),
            static_cast<uint64_t>(l->batch), static_cast<uint64_t>(l->type), static_cast<uint64_t>(l->order)}) {
        add(value);
      }
    }
    add(static_cast<uint64_t>(operation.transposes_a * 16 + operation.transposes_b));
    add(static_cast<uint64_t>(operation.epilogue));
    add(static_cast<uint64_t>(operation.compute));
    return h;
  }
};

bool is_combination(const Problem& p) {
  const cudaDataType in = p.a.type, out = p.d.type;
  if (p.b.type != in || p.c.type != out) return false;
  if (p.operation.compute == CUBLAS_COMPUTE_64F) {
    return p.operation.scale == CUDA_R_64F && in == CUDA_R_64F && out == CUDA_R_64F;
  }
  if (p.operation.scale != CUDA_R_32F) return false;
  if (p.operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32) return in == CUDA_R_32F && out == CUDA_R_32F;
  if (p.operation.compute != CUBLAS_COMPUTE_32F) return false;
  if (in == CUDA_R_32F) return out == CUDA_R_32F;
  return (in == CUDA_R_16F || in == CUDA_R_16BF) && (out == in || out == CUDA_R_32F);
}

cublasStatus_t check(const Problem& p) {
  for (const Layout* l : {&p.a, &p.b, &p.c, &p.d}) {
    if (!l->is_valid() || l->batch != p.d.batch) return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool a_upright = p.operation.transposes_a == CUBLAS_OP_N, b_upright = p.operation.transposes_b == CUBLAS_OP_N;
  if ((a_upright ? p.a.rows : p.a.columns) != p.d.rows || (b_upright ? p.b.columns : p.b.rows) != p.d.columns ||
      (a_upright ? p.a.columns : p.a.rows) != (b_upright ? p.b.rows : p.b.columns) || p.c.rows != p.d.rows ||
      p.c.columns != p.d.columns) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!is_combination(p)) return CUBLAS_STATUS_NOT_SUPPORTED;
  switch (p.operation.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      break;
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
      if (p.a.type == CUDA_R_64F || p.d.batch > 1) return CUBLAS_STATUS_NOT_SUPPORTED;
      break;
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (p.d.order != CUBLASLT_ORDER_COL && p.operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

bool is_aligned(const void* data, uint32_t bytes) { return reinterpret_cast<uintptr_t>(data) % bytes == 0; }

/// op(X) as a dense (rows, columns) array of T.
template <class T>
void unpack(const Layout& x, const void* data, int64_t batch, bool transposes, int64_t rows, int64_t columns,
            std::vector<T>& to) {
  const int64_t row = transposes ? x.column_stride() : x.row_stride();
  const int64_t column = transposes ? x.row_stride() : x.column_stride();
  const Element element = element_of(x.type);
  to.resize(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      to[static_cast<size_t>(i * columns + j)] =
          load_element<T>(data, batch * x.batch_step + i * row + j * column, element);
    }
  }
}

template <class T>
T activate(T x, cublasLtEpilogue_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      return x < 0 ? T{0} : x;
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:  // the approximation by tanh
      return x / 2 * (1 + std::tanh(static_cast<T>(0.7978845608028654) * (x + static_cast<T>(0.044715) * x * x * x)));
    default:
      return x;
  }
}

/// sums[i] = the sum over k of x[i][k] (rows, depth).
template <class T>
void store_sums(const std::vector<T>& x, int64_t rows, int64_t depth, void* to, Element element) {
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += static_cast<double>(x[static_cast<size_t>(i * depth + k)]);
    store_element(to, i, element, static_cast<T>(sum));
  }
}

template <class T>
void multiply(const Problem& p, T alpha, const void* a, const void* b, T beta, const void* c, void* d) {
  constexpr int64_t kChunk = 32;  // of k, summed before it is added: keeps rounding errors small
  const int64_t m = p.rows(), n = p.columns(), depth = p.depth();
  const Element out = element_of(p.d.type);
  std::vector<T> left, right, sum(static_cast<size_t>(n)), part(static_cast<size_t>(n));
  for (int64_t batch = 0; batch < p.d.batch; ++batch) {
    unpack(p.a, a, batch, p.operation.transposes_a != CUBLAS_OP_N, m, depth, left);
    unpack(p.b, b, batch, p.operation.transposes_b != CUBLAS_OP_N, depth, n, right);
    if (p.operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && settings().rounds_tf32) {
      for (std::vector<T>* operand : {&left, &right}) {
        for (T& x : *operand) x = static_cast<T>(tf32_of(static_cast<float>(x)));
      }
    }
    if (p.operation.epilogue == CUBLASLT_EPILOGUE_BGRADA) store_sums(left, m, depth, p.operation.bias, out);
    if (p.operation.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
      std::vector<T> columns;
      unpack(p.b, b, batch, p.operation.transposes_b == CUBLAS_OP_N, n, depth, columns);
      store_sums(columns, n, depth, p.operation.bias, out);
    }
    for (int64_t i = 0; i < m; ++i) {
      std::fill(sum.begin(), sum.end(), T{0});
      for (int64_t begin = 0; begin < depth; begin += kChunk) {
        std::fill(part.begin(), part.end(), T{0});
        for (int64_t k = begin; k < std::min(begin + kChunk, depth); ++k) {
          const T factor = left[static_cast<size_t>(i * depth + k)];
          const T* const row = &right[static_cast<size_t>(k * n)];
          T* const to = part.data();
          for (int64_t j = 0; j < n; ++j) to[j] += factor * row[j];
        }
        for (size_t j = 0; j < sum.size(); ++j) sum[j] += part[j];
      }
      const T bias = p.has_bias() ? load_element<T>(p.operation.bias, i, out) : T{0};
      for (int64_t j = 0; j < n; ++j) {
        T value = alpha * sum[static_cast<size_t>(j)];
        if (beta != 0) {
          const int64_t at = batch * p.c.batch_step + i * p.c.row_stride() + j * p.c.column_stride();
          value += beta * load_element<T>(c, at, out);
        }
        value = activate(value + bias, p.operation.epilogue);
        store_element(d, batch * p.d.batch_step + i * p.d.row_stride() + j * p.d.column_stride(), out, value);
      }
    }
  }
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS of another kind";
  }
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t raw, size_t bytes, cudaDataType type,
                                                 uint64_t rows, uint64_t columns, int64_t step) {
  if (raw == nullptr || bytes < sizeof(Layout)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memset(raw, 0, bytes);
  layout_of(raw) = {rows, columns, step, 0, 1, type, CUBLASLT_ORDER_COL};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t raw, cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  Layout& layout = layout_of(raw);
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_ORDER: {
      const cublasStatus_t status = assign(layout.order, value, bytes);
      if (layout.order != CUBLASLT_ORDER_COL && layout.order != CUBLASLT_ORDER_ROW) return CUBLAS_STATUS_NOT_SUPPORTED;
      return status;
    }
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return assign(layout.batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return assign(layout.batch_step, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t raw, size_t bytes, cublasComputeType_t compute,
                                               cudaDataType scale) {
  if (raw == nullptr || bytes < sizeof(Operation)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memset(raw, 0, bytes);
  operation_of(raw) = {
      compute, scale, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr, CUBLASLT_POINTER_MODE_HOST};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t raw, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  Operation& operation = operation_of(raw);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return assign(operation.transposes_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return assign(operation.transposes_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return assign(operation.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return assign(operation.bias, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t raw, size_t bytes) {
  if (raw == nullptr || bytes < sizeof(Preference)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memset(raw, 0, bytes);
  preference_of(raw) = {0, {256, 256, 256, 256}, CUBLASLT_REDUCTION_SCHEME_MASK};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t raw,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    size_t bytes) {
  Preference& preference = preference_of(raw);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return assign(preference.workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return assign(preference.alignment[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return assign(preference.alignment[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return assign(preference.alignment[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return assign(preference.alignment[3], value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return assign(preference.reduction_schemes, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t raw, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* count) {
  *count = 0;
  if (handle == nullptr || most <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  const Problem problem = {operation_of(operation), layout_of(a), layout_of(b), layout_of(c), layout_of(d)};
  if (const cublasStatus_t status = check(problem); status != CUBLAS_STATUS_SUCCESS) return status;
  const bool needs_vector = problem.has_bias() || problem.has_bias_grad();
  if (needs_vector && problem.operation.bias != nullptr && !is_aligned(problem.operation.bias, kBiasAlignment)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const Preference& preference = preference_of(raw);
  constexpr uint64_t kWorkspaces[] = {0, 64 << 10};  // the second algorithm writes to its own
  for (const uint64_t workspace : kWorkspaces) {
    if (*count == most || workspace > preference.workspace) break;
    Algorithm algorithm = {kMark, static_cast<uint64_t>(*count), workspace, {}, problem.hash()};
    std::copy(std::begin(preference.alignment), std::end(preference.alignment), algorithm.alignment);
    cublasLtMatmulHeuristicResult_t& result = results[(*count)++];
    std::memset(&result, 0, sizeof(result));
    std::memcpy(&result.algo, &algorithm, sizeof(algorithm));
    result.workspaceSize = workspace;
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  if (!can_call_library(stream)) return CUBLAS_STATUS_EXECUTION_FAILED;
  const Problem problem = {operation_of(operation), layout_of(a_layout), layout_of(b_layout), layout_of(c_layout),
                           layout_of(d_layout)};
  if (const cublasStatus_t status = check(problem); status != CUBLAS_STATUS_SUCCESS) return status;
  if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const void* const pointers[] = {a, b, c, d};
  if (algo != nullptr) {
    Algorithm algorithm;
    std::memcpy(&algorithm, algo, sizeof(algorithm));
    if (algorithm.mark != kMark || algorithm.problem != problem.hash() || workspace_bytes < algorithm.workspace ||
        (algorithm.workspace > 0 && (device_of(workspace) < 0 || !is_aligned(workspace, 256)))) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    for (size_t i = 0; i < 4; ++i) {
      if (!is_aligned(pointers[i], algorithm.alignment[i])) return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  for (const void* pointer : pointers) {
    if (device_of(pointer) < 0) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if ((problem.has_bias() || problem.has_bias_grad()) &&
      (device_of(problem.operation.bias) < 0 || !is_aligned(problem.operation.bias, kBiasAlignment))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (c == d && (problem.c.step != problem.d.step || problem.c.order != problem.d.order)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (settings().trace) std::fprintf(stderr, "device: cublasLtMatmul\n");
  if (!settings().execute) return CUBLAS_STATUS_SUCCESS;
  // The caller's scalars may be gone when the work is done.
  const bool is_double = problem.operation.scale == CUDA_R_64F;
  const auto value_of = [&](const void* scalar) {
    return is_double ? *static_cast<const double*>(scalar) : *static_cast<const float*>(scalar);
  };
  const double alpha_value = value_of(alpha), beta_value = value_of(beta);
  const cudaError_t status = submit(stream, [=] {
    const DeviceAccess access;
    if (workspace_bytes > 0) std::memset(workspace, 0xff, workspace_bytes);
    if (is_double) {
      multiply(problem, alpha_value, a, b, beta_value, c, d);
    } else {
      multiply(problem, static_cast<float>(alpha_value), a, b, static_cast<float>(beta_value), c, d);
    }
  });
  return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
