#include "kusari/framework/training/extensions/picture_report.h"

#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {

PictureReport::PictureReport(Draw draw, PictureReportOptions options)
    : draw_{std::move(draw)}, options_{std::move(options)} {
  if (!draw_) throw ValueError("PictureReport: draw is an empty function: give one that makes pictures");
}

void PictureReport::operator()(Trainer& trainer) {
  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  std::vector<ReportPicture> made;
  for (const TitledImage& titled : draw_()) {
    made.push_back(report_picture(titled.title, titled.image));
    write_picture(trainer, options_.filename, static_cast<int64_t>(made.size()) - 1, made.back());
  }
  pictures_ = std::move(made);
  ++drawn_;
}

}  // namespace kusari::training::extensions
