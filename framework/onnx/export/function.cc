#include "kusari/framework/onnx/function.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/onnx/export/recorder.h"

namespace kusari::onnx {

Variables detail::call_as_node(const std::string& op, std::span<const Variable> inputs, const Attributes& attributes,
                               const std::function<Variables(std::span<const Variable>)>& f) {
  if (op.empty() || op.back() == '.') throw ValueError("onnx::function: '" + op + "' is no name of an operator");
  exporting::TraceRecorder* const recorder = exporting::TraceRecorder::current();
  if (recorder == nullptr || recorder->muted() > 0) return f(inputs);
  exporting::Call call{op, attributes, {}, {}, recorder->path(), 0, op};
  for (const Variable& x : inputs) call.inputs.push_back(recorder->id_of(x, "onnx::function '" + op + "'"));
  struct Muted {
    int& depth;
    explicit Muted(int& d) : depth{d} { ++depth; }
    ~Muted() { --depth; }
  };
  Variables ys;
  {
    const Muted muted(recorder->muted());
    ys = f(inputs);
  }
  // Of its own, where f hands an argument through.
  for (Variable& y : ys) y = Variable(y.array().copy(), false);
  recorder->record(std::move(call), {ys.data(), ys.size()});
  return ys;
}

}  // namespace kusari::onnx
