#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/normalization/batch_renormalization.h"
#include "kusari/framework/links/normalization/decorrelated_batch_normalization.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {
namespace {

/// A link that is called with x and perhaps finetune.
template <class T>
LinkUnderTest normalization(T link) {
  return link_under_test(std::move(link), [](T& self, Args& args) {
    return self(args.var("x"), {.finetune = args.flag("finetune", false)});
  });
}

LinkUnderTest batch_normalization_link(Args& a) {
  const L::BatchNormalizationOptions options{.decay = a.number("decay", 0.9),
                                             .eps = a.number("eps", 2e-5),
                                             .use_gamma = a.flag("use_gamma", true),
                                             .use_beta = a.flag("use_beta", true),
                                             .axis = a.shape("axis")};
  const Shape size = a.shape("size");
  return normalization(L::BatchNormalization(size.empty() ? Shape{kInfer} : size, options));
}

LinkUnderTest batch_renormalization_link(Args& a) {
  return normalization(L::BatchRenormalization(a.integer("size", kInfer), {.rmax = a.number("rmax", 1),
                                                                           .dmax = a.number("dmax", 0),
                                                                           .decay = a.number("decay", 0.9),
                                                                           .eps = a.number("eps", 2e-5)}));
}

LinkUnderTest decorrelated_batch_normalization_link(Args& a) {
  return normalization(L::DecorrelatedBatchNormalization(
      a.integer("size", 0),
      {.groups = a.integer("groups", 16), .decay = a.number("decay", 0.9), .eps = a.number("eps", 2e-5)}));
}

}  // namespace

void add_batch_normalization_links(LinkTable& table) {
  table.insert({
      {"BatchNormalization", batch_normalization_link},
      {"BatchRenormalization", batch_renormalization_link},
      {"DecorrelatedBatchNormalization", decorrelated_batch_normalization_link},
  });
}

}  // namespace kusari::golden
