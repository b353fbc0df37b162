#include "kusari/framework/training/extensions/html_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/python_repr.h"
#include "kusari/framework/core/runtime_info.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/training/charts/markup.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/report_picture.h"
#include "kusari/framework/training/extensions/run_program.h"
#include "kusari/framework/training/html/log_summary.h"
#include "kusari/framework/training/html/run_report.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/optimizers/optimizer_access.h"

namespace kusari::training::extensions {
namespace {

using html::NamedTexts;
using html::RunReport;
using html::RunState;
using html::Section;
using html::short_duration;
namespace fs = std::filesystem;

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char text[80];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &parts)};
}

/// The share of the run that is over, where its length is known.
std::optional<double> progress(const Trainer& trainer) {
  const auto length = trainer.stop_trigger().get_training_length();
  if (!length) return std::nullopt;
  const updaters::Updater& updater = trainer.updater();
  const double done = length->unit == "iteration" ? static_cast<double>(updater.iteration()) : updater.epoch_detail();
  return std::min(done / length->period, 1.0);
}

/// Small print stands on the second line.
NamedTexts tiles(Trainer& trainer, const html::LogTable& log, const std::vector<charts::LineChart>& curves,
                 bool is_over) {
  const updaters::Updater& updater = trainer.updater();
  const double elapsed = trainer.elapsed_time();
  const auto length = trainer.stop_trigger().get_training_length();
  const auto of = [&](const char* unit) {
    return length && length->unit == unit ? "\nof " + general_text(length->period, 15) : std::string();
  };
  NamedTexts result{{"Epoch", grouped_text(updater.epoch()) + of("epoch")},
                    {"Iteration", grouped_text(updater.iteration()) + of("iteration")},
                    {"Elapsed", short_duration(elapsed)}};
  if (const auto share = progress(trainer); share && !is_over && *share > 0) {
    result.emplace_back("Remaining", short_duration(elapsed * (1 - *share) / *share));
  }
  const auto iterations = static_cast<double>(updater.iteration());
  if (elapsed > 0) result.emplace_back("Speed", general_text(iterations / elapsed, 4) + "\niterations/s");
  if (const updaters::StepTimes times = updater.step_times(); times.data + times.compute > 0) {
    result.emplace_back("Waiting for data", general_text(100 * times.data / (times.data + times.compute), 3) + " %");
  }
  // The best of each quantity, as validation sees it where there is one.
  size_t shown = 0;
  for (const charts::LineChart& chart : curves) {
    const std::string& key = chart.curves.back().name;
    const size_t row = log.best_row(key);
    if (row == log.rows() || ++shown > 4) continue;
    const html::LogTable::Column* const places = log.find(chart.x_label);
    const LogNumber* place = places == nullptr ? nullptr : (*places)[row];
    result.emplace_back("Best " + key,
                        html::short_number(*(*log.find(key))[row]) +
                            (place == nullptr ? "" : "\n" + chart.x_label + " " + html::short_number(*place)));
  }
  return result;
}

Section optimizer_section(const std::string& name, Optimizer& optimizer, bool is_only) {
  Section section{.title = is_only ? "Optimizer" : "Optimizer " + name};
  section.values.emplace_back("method", optimizer.name());
  for (const auto& [field, value] : detail::OptimizerAccess::hyperparameters(optimizer)) {
    section.values.emplace_back(field, python_repr(value));
  }
  for (const std::string& hook : detail::OptimizerAccess::hooks(optimizer)) section.values.emplace_back("hook", hook);
  if (optimizer.has_loss_scaling()) section.values.emplace_back("loss scale", general_text(optimizer.loss_scale()));
  section.values.emplace_back("steps", grouped_text(optimizer.t()));
  return section;
}

Section model_section(const std::string& name, Link& model, bool is_only) {
  Section section{.title = is_only ? "Model" : "Model " + name, .text = to_string(model)};
  int64_t parameters = 0, bytes = 0;
  for (const Parameter* parameter : model.params(false)) {
    parameters += parameter->array().size();
    bytes += parameter->array().nbytes();
  }
  section.values = {{"parameters", grouped_text(parameters)},
                    {"memory", general_text(static_cast<double>(bytes) / (1 << 20), 4) + " MiB"},
                    {"device", model.device().name()}};
  constexpr int64_t kShownLines = 60;
  section.is_folded = std::count(section.text.begin(), section.text.end(), '\n') > kShownLines;
  return section;
}

std::vector<Section> sections(Trainer& trainer, const HtmlReportOptions& options) {
  std::vector<Section> result;
  const auto optimizers = trainer.updater().get_all_optimizers();
  for (const auto& [name, optimizer] : optimizers) {
    if (optimizer->has_target()) result.push_back(model_section(name, optimizer->target(), optimizers.size() == 1));
  }
  if (!options.model_summary.empty()) result.push_back({.title = "Model summary", .text = options.model_summary});
  for (const auto& [name, optimizer] : optimizers) {
    result.push_back(optimizer_section(name, *optimizer, optimizers.size() == 1));
  }
  if (!options.configuration.empty()) {
    result.push_back({.title = "Configuration", .values = options.configuration});
  }
  Section extensions{.title = "Extensions"};
  extensions.table.push_back({"name", "trigger", "priority"});
  for (const auto& extension : trainer.extensions()) {
    extensions.table.push_back({extension.name, extension.trigger, std::to_string(extension.priority)});
  }
  result.push_back(std::move(extensions));
  result.push_back({.title = "Settings", .text = config().show()});
  result.push_back({.title = "Environment", .text = runtime_info()});
  return result;
}

/// RFC 4648.
std::string base64(const std::string& bytes) {
  const char* const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(bytes.size() - i, 3);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < left ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) text += k <= left ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

/// What extensions have drawn, a section for each.
void add_pictures(Trainer& trainer, std::vector<Section>& result) {
  for (const auto& summary : trainer.extensions()) {
    const auto* const source = dynamic_cast<const PictureSource*>(&trainer.get_extension(summary.name));
    if (source == nullptr || source->pictures().empty()) continue;
    Section section{.title = summary.name};
    for (const ReportPicture& picture : source->pictures()) {
      section.svg += "<figure><img style=\"max-width: 100%\" width=\"" + std::to_string(picture.width) +
                     "\" alt=\"\" src=\"data:image/png;base64," + base64(picture.png) + "\"><figcaption>" +
                     charts::escaped(picture.title) + "</figcaption></figure>\n";
    }
    result.push_back(std::move(section));
  }
}

std::string read_text(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return "";
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The graph as an svg element; "" where there is no `dot`, or when the graph is so large that nobody could read it.
std::string draw_graph(const std::string& dot, const fs::path& directory) {
  constexpr size_t kLargest = 200000;  // bytes: dot takes minutes for more
  if (dot.size() > kLargest) return "";
  const std::string source = (directory / "report_graph.dot").string(), picture = source + ".svg";
  write_file_atomically(source, dot, false);
  std::string svg = run_program({"dot", "-Tsvg", "-o", picture, source}) ? read_text(picture) : "";
  std::error_code ignored;
  fs::remove(source, ignored);
  fs::remove(picture, ignored);
  const size_t begin = svg.find("<svg");
  return begin == std::string::npos ? "" : svg.substr(begin);
}

}  // namespace

HtmlReport::HtmlReport(HtmlReportOptions options) : options_{std::move(options)} {
  argument::not_empty("HtmlReport", "filename", options_.filename, "name a file");
  argument::not_empty("HtmlReport", "log_report", options_.log_report, "name the trainer's LogReport");
  if (options_.x_key && *options_.x_key != "iteration" && *options_.x_key != "epoch") {
    throw ValueError("HtmlReport: x_key is '" + *options_.x_key + "': it must be 'iteration' or 'epoch'");
  }
}

void HtmlReport::initialize(Trainer& trainer) {
  trainer.get_extension<LogReport>(options_.log_report);  // throws while there is still time to add it
  trainer_ = &trainer;
  error_.clear();
}

void HtmlReport::operator()(Trainer& trainer) { write(trainer, false); }

void HtmlReport::on_error(Trainer&, const std::exception& error) { error_ = error.what(); }

void HtmlReport::finalize() {
  if (trainer_ != nullptr) write(*std::exchange(trainer_, nullptr), true);
}

void HtmlReport::write(Trainer& trainer, bool is_over) {
  const html::Log& log = trainer.get_extension<LogReport>(options_.log_report).log();
  const fs::path directory = trainer.out();
  RunReport page{options_.title, directory.string()};
  page.state = !is_over ? RunState::running : error_.empty() ? RunState::finished : RunState::failed;
  page.error = error_;
  page.progress = progress(trainer);
  const html::LogTable table(log);
  page.charts = html::log_charts(table, options_.x_key.value_or(html::x_axis(table)));
  page.tiles = tiles(trainer, table, page.charts, is_over);
  page.log = log;
  page.sections = sections(trainer, options_);
  add_pictures(trainer, page.sections);
  if (const std::string dot = options_.graph.empty() ? "" : read_text(directory / options_.graph); !dot.empty()) {
    if (dot != drawn_dot_) graph_svg_ = draw_graph(drawn_dot_ = dot, directory);
    page.sections.push_back({.title = "Computational graph", .text = dot, .svg = graph_svg_, .is_folded = true});
  }
  page.footer = "Written by Kusari, " + local_time();
  page.reload_seconds = options_.reload_seconds;
  write_file_atomically((directory / options_.filename).string(), html::to_html(page), is_over);
}

}  // namespace kusari::training::extensions
