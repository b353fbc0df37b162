#include "kusari/framework/static_graph/program.h"

#include <algorithm>
#include <iterator>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/exchange.h"

namespace kusari::graphs {

using Kind = LaunchArgument::Kind;

bool Operand::is_read() const noexcept {
  return kind == Kind::in || kind == Kind::in_out || kind == Kind::in_list || kind == Kind::in_out_list ||
         kind == Kind::device_scalar;
}

bool Operand::is_written() const noexcept {
  return kind == Kind::out || kind == Kind::in_out || kind == Kind::out_list || kind == Kind::in_out_list;
}

Operand operand_of(Kind kind, const View& view) { return {.kind = kind, .views = {view}, .bytes = {}}; }
Operand operand_of(Kind kind, std::vector<View> views) {
  return {.kind = kind, .views = std::move(views), .bytes = {}};
}

View view_of(SlotIndex slot, const Shape& shape, const Strides& strides, Dtype dtype) {
  return {.slot = slot, .dtype = dtype, .shape = shape, .strides = strides};
}

bool runs_on_host(const Step& step) noexcept {
  static const int on_host[] = {kernel_id<kernels::StartExchange>().index, kernel_id<kernels::FinishExchange>().index,
                                kernel_id<kernels::LookAtExchange>().index};
  return step.is_code() || std::find(std::begin(on_host), std::end(on_host), step.id.index) != std::end(on_host);
}

Step detail::make_step(const char* name, KernelId id, const Device& device, Phase phase, std::vector<Operand> operands,
                       void (*run)(Backend::AnyKernel, const LaunchArgument*)) {
  const Backend::AnyKernel kernel = device.backend().find(id);
  if (kernel == nullptr) kusari::detail::throw_missing_kernel(name, device);
  Step step;
  step.phase = phase;
  step.name = name;
  step.id = id;
  step.device = device;
  step.kernel = kernel;
  step.run = run;
  step.operands = std::move(operands);
  return step;
}

}  // namespace kusari::graphs
