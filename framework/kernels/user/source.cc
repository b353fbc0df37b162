#include "kusari/framework/kernels/user/source.h"

namespace kusari::cuda::user {
namespace {

std::string head(const std::string& declarations, const std::string& preamble) {
  return "#include \"kusari/framework/kernels/user/prelude.h\"\nusing namespace kusari::user;\nnamespace km = "
         "kusari::km;\n" +
         declarations + preamble + "\n";
}

std::string constant(const Bound& b) { return (b.is_output ? "" : "const ") + b.parameter.type; }

/// ", const T* x_data" and the like.
std::string kernel_parameters(std::span<const Bound> bound) {
  std::string text;
  for (const Bound& b : bound) {
    if (b.is_number) {
      text += ", const " + b.parameter.type + " " + b.parameter.name;
      continue;
    }
    text += ", " + constant(b) + "* " + b.parameter.name + "_data";
    if (b.parameter.is_raw) text += ", const Layout<1, " + std::to_string(b.ndim) + "> " + b.parameter.name + "_layout";
  }
  return text;
}

/// Declarations of the raw arrays, before any loop.
std::string raw_arrays(std::span<const Bound> bound) {
  std::string text;
  for (const Bound& b : bound) {
    if (!b.parameter.is_raw) continue;
    const std::string& name = b.parameter.name;
    text += "  const Raw<" + b.parameter.type + ", " + std::to_string(b.ndim) + "> " + name + "{" + name + "_data, " +
            name + "_layout};\n";
  }
  return text;
}

/// "const T x = ...;" or "T& y = ...;" for an element that lies `offset` bytes into the array.
std::string element(const Bound& b, const std::string& offset) {
  const std::string bytes = b.is_output ? "char*" : "const char*", type = constant(b);
  return type + (b.is_output ? "& " : " ") + b.parameter.name + " = *reinterpret_cast<" + type +
         "*>(reinterpret_cast<" + bytes + ">(" + b.parameter.name + "_data) + " + offset + ");\n";
}

bool has_layout(const Bound& b) { return !b.is_number && !b.parameter.is_raw; }

}  // namespace

std::string elementwise_source(const std::string& name, const std::string& operation, const std::string& declarations,
                               const std::string& preamble, std::span<const Bound> bound, int ndim, bool is_flat) {
  int arrays = 0;
  for (const Bound& b : bound) arrays += has_layout(b) ? 1 : 0;
  const std::string count = std::to_string(arrays);
  std::string text = head(declarations, preamble) + "extern \"C\" __global__ void " + name + "(const Layout<" + count +
                     ", " + std::to_string(ndim) + "> layout, const long long n" + kernel_parameters(bound) + ") {\n" +
                     raw_arrays(bound) +
                     "  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;\n"
                     "       i += static_cast<long long>(gridDim.x) * blockDim.x) {\n";
  text += is_flat ? "    (void)layout;\n" : "    long long offset[" + count + "];\n    layout.locate(i, offset);\n";
  int k = 0;
  for (const Bound& b : bound) {
    if (!has_layout(b)) continue;
    const std::string size = "i * static_cast<long long>(sizeof(" + b.parameter.type + "))";
    text += "    " + element(b, is_flat ? size : "offset[" + std::to_string(k) + "]");
    ++k;
  }
  return text + "    { " + operation + "; }\n  }\n}\n";
}

std::string reduction_source(const std::string& name, const ReductionText& reduction, const std::string& declarations,
                             const std::string& preamble, std::span<const Bound> bound, int outer_ndim,
                             int inner_ndim) {
  int inputs = 0;
  for (const Bound& b : bound) inputs += has_layout(b) && !b.is_output ? 1 : 0;
  const std::string count = std::to_string(inputs), threads = std::to_string(kReductionThreads);
  std::string text =
      head(declarations, preamble) + "using kusari_value = " + reduction.value_type +
      ";\n"
      "__device__ __forceinline__ kusari_value kusari_combine(const kusari_value a, const kusari_value b) {\n"
      "  return kusari_value(" +
      reduction.reduce + ");\n}\nextern \"C\" __global__ void " + name + "(const Layout<" + count + ", " +
      std::to_string(outer_ndim) + "> outer, const Layout<" + count + ", " + std::to_string(inner_ndim) +
      "> inner, const long long outputs, const long long n" + kernel_parameters(bound) + ") {\n" +
      "  __shared__ kusari_value partial[" + threads + "];\n" + raw_arrays(bound) +
      "  for (long long o = blockIdx.x; o < outputs; o += gridDim.x) {\n"
      "    long long base[" +
      count + "];\n    outer.locate(o, base);\n    kusari_value value = kusari_value(" + reduction.identity +
      ");\n    for (long long j = threadIdx.x; j < n; j += blockDim.x) {\n      long long offset[" + count +
      "];\n      inner.locate(j, offset);\n";
  int k = 0;
  for (const Bound& b : bound) {
    if (!has_layout(b) || b.is_output) continue;
    const std::string index = "[" + std::to_string(k) + "]";
    text += "      " + element(b, "base" + index + " + offset" + index);
    ++k;
  }
  text += "      value = kusari_combine(value, kusari_value(" + reduction.map +
          "));\n    }\n    partial[threadIdx.x] = value;\n"
          "    for (unsigned reach = blockDim.x / 2; reach > 0; reach /= 2) {\n      __syncthreads();\n"
          "      if (threadIdx.x < reach)\n"
          "        partial[threadIdx.x] = kusari_combine(partial[threadIdx.x], partial[threadIdx.x + reach]);\n    }\n"
          "    if (threadIdx.x == 0) {\n      const kusari_value a = partial[0];\n";
  for (const Bound& b : bound) {
    if (b.is_output && !b.parameter.is_raw) {
      text += "      " + b.parameter.type + "& " + b.parameter.name + " = " + b.parameter.name + "_data[o];\n";
    }
  }
  return text + "      { " + reduction.post_map + "; }\n    }\n    __syncthreads();\n  }\n}\n";
}

}  // namespace kusari::cuda::user
