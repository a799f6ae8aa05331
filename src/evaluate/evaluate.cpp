#include "evaluate/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/quantize_request.h"
#include "evaluate/evaluated_network.h"
#include "evaluate/task_evaluation.h"
#include "limits/limits.h"
#include "quantize/calibration/assumptions.h"
#include "quantize/calibration/labels.h"
#include "quantize/measure/accuracy.h"
#include "quantize/measure/classification.h"
#include "report/convert.h"
#include "support/budget.h"
#include "support/progress.h"
#include "support/strings.h"

namespace ec {
namespace {

namespace fs = std::filesystem;
using quantize::Preprocessing;

bool preprocessing_given(const Options& options) {
  for (const std::string_view name : {"mean", "std", "pixel-range", "color", "resize"})
    if (options.is_given(name)) return true;
  return false;
}

// Sizes are those of the reference where there is one: compiled files have theirs fixed.
Options without_shapes(const Options& given) {
  Options options;
  for (const auto& [name, entry] : given.entries())
    if (name != "input-shape" && name != "dim") options.set(name, entry.value, entry.source);
  return options;
}

class Evaluation {
 public:
  Evaluation(const Registry& registry, const Options& given, DiagnosticSink& sink)
      : registry_(registry), session_options_(given), sink_(sink) {}

  Result<EvaluateReport> run(const ModelRef& model) {
    EC_TRY(options_, registry_.options().resolve(session_options_, Verb::Evaluate, {}));
    Budget budget(job_limits(options_));
    const BudgetScope scope(budget);
    data_ = options_.text("data");
    if (data_.empty())
      return Error(Code::Usage, "evaluation needs data, and none is given")
          .hint("pass a folder of images, arrays or a list with --data PATH");
    EC_TRY(given_, preprocessing_of(options_));
    EC_TRY(task_, TaskEvaluation::open(options_));
    EC_CHECK_OK(open_networks(model));
    EC_CHECK_OK(read_label_lines());
    EC_CHECK_OK(open_data());
    EC_CHECK_OK(find_labels());
    if (labels_.of_sample.empty() && !reference_ && !task_.has_boxes())
      return Error(Code::Usage, "without labels there is nothing to compare the model with")
          .file(data_)
          .hint(
              "give the float model with --reference MODEL, labels with --labels FILE, or put "
              "each class into a folder of its own");
    EC_CHECK_OK(run_samples());
    fill_scores();
    warn_of_assumptions();
    return std::move(report_);
  }

 private:
  Status open_networks(const ModelRef& model) {
    report_.data = data_;
    report_.model.path = model.name;
    if (!options_.text("reference").empty()) {
      EC_TRY(reference_, EvaluatedNetwork::open(registry_, options_.text("reference"),
                                                session_options_, sink_));
      report_.reference.emplace().path = options_.text("reference");
      report_.reference->device = reference_->device();
    }
    EC_TRY(model_, EvaluatedNetwork::open(
                       registry_, model,
                       reference_ ? without_shapes(session_options_) : session_options_, sink_));
    report_.model.device = model_->device();
    if (reference_) reference_->take_sizes(*model_);
    if (reference_ && !model_->takes_pixels()) model_->read_as(*reference_);
    return {};
  }

  // What is given counts, then what the file says, then what the model's file says for the
  // reference. A network that takes pixels takes nothing else.
  Preprocessing choose_preprocessing(const EvaluatedNetwork& network, EvaluatedModel& report) {
    Preprocessing chosen = given_;
    const bool own = network.takes_pixels() || !preprocessing_given(options_);
    std::optional<Preprocessing> recorded = own ? network.recorded() : std::nullopt;
    const bool in_own_file = recorded.has_value();
    if (own && !recorded && model_->folded()) recorded = model_->folded();
    if (own && !recorded && &network != &*model_) recorded = model_->recorded();
    if (recorded) {
      chosen = *recorded;
      if (!network.takes_pixels()) chosen.layout = given_.layout;
      report.preprocessing_from = in_own_file ? "file" : "other file";
    } else {
      report.preprocessing_from = preprocessing_given(options_) ? "options" : "nothing";
    }
    report.preprocessing = chosen.text();
    return chosen;
  }

  Status read_label_lines() {
    if (options_.text("labels").empty() || task_.has_boxes()) return {};
    EC_TRY(label_file_, quantize::read_label_file(options_.text("labels")));
    std::error_code ignored;
    if (!fs::is_directory(data_, ignored)) return {};
    for (const quantize::LabelLine& line : label_file_.lines) {
      if (line.path.empty())
        return Error(Code::BadCalibrationData, "no path on this line")
            .file(fmt::format("{}:{}", options_.text("labels"), line.line))
            .hint("write PATH<tab>LABEL, the path relative to the folder of --data");
      listed_.push_back(fs::path(data_) / line.path);
    }
    return {};
  }

  Result<std::unique_ptr<quantize::SampleSource>> open_source(EvaluatedNetwork& network,
                                                              EvaluatedModel& report,
                                                              Preprocessing& preprocessing) {
    preprocessing = choose_preprocessing(network, report);
    const auto open = [&] {
      return listed_.empty()
                 ? quantize::open_samples(data_, network.inputs(), preprocessing, sink_)
                 : quantize::open_sample_files(listed_, network.inputs(), preprocessing);
    };
    EC_TRY(std::unique_ptr<quantize::SampleSource> source, open());
    // Where nothing is known, bytes at the input are pixels.
    const bool unknown = report.preprocessing_from == "nothing" && !reference_;
    if (!unknown || !source->holds_images() || !network.take_pixels()) return source;
    preprocessing.pixel_range = 255;
    pixels_assumed_ = true;
    report.preprocessing = preprocessing.text();
    return open();
  }

  Status open_data() {
    EC_TRY(std::unique_ptr<quantize::SampleSource> source,
           open_source(*model_, report_.model, preprocessing_));
    size_ = source->size();
    images_ = source->holds_images() && data_ != "random";
    if (reference_) {
      EC_TRY(std::unique_ptr<quantize::SampleSource> other,
             open_source(*reference_, *report_.reference, reference_preprocessing_));
      if (other->size() != size_)
        return Error(Code::BadCalibrationData,
                     fmt::format("the data holds {} samples for the model, {} for the reference",
                                 size_, other->size()))
            .file(data_)
            .hint("give arrays whose first dimension is the batch of both");
      EC_CHECK_OK(refuse_arrays(*source));
      reference_->set_samples(std::move(other));
    }
    if (task_.has_boxes() && !source->holds_images())
      return Error(Code::Usage, "labels of boxes are for pictures, and the data holds arrays")
          .file(data_);
    if (options_.text("labels").empty()) {
      EC_TRY(labels_, quantize::labels_of_samples(*source));
      std::error_code ignored;
      if (labels_.of_sample.empty() && fs::is_directory(data_, ignored)) {
        labels_ = quantize::labels_of_folders(*source, data_);
        labels_of_folders_ = true;
      }
    }
    model_->set_samples(std::move(source));
    return {};
  }

  // Arrays are values of an input: those of one are not those of the other.
  Status refuse_arrays(const quantize::SampleSource& source) const {
    if (model_->takes_pixels() == reference_->takes_pixels()) return {};
    if (source.holds_images()) return {};
    return Error(Code::Usage,
                 "one model takes pixels, the other preprocessed values: arrays cannot serve both")
        .file(data_)
        .hint("evaluate them on images");
  }

  Status find_labels() {
    if (task_.has_boxes()) {
      report_.box_labels = options_.text("labels");
    } else if (!options_.text("labels").empty()) {
      if (label_file_.lines.size() != size_)
        return Error(Code::BadCalibrationData,
                     fmt::format("{} labels for {} samples", label_file_.lines.size(), size_))
            .file(options_.text("labels"))
            .hint("give one label for each sample, in their order");
      EC_TRY(labels_, quantize::labels_of_lines(label_file_.lines, options_.text("labels")));
    }
    report_.labels = labels_.source;
    report_.classes = labels_.names;
    report_.label_offset = options_.integer("label-offset");
    return {};
  }

  // The first output that is a list of scores.
  Result<size_t> score_output(const std::vector<RealOutput>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i)
      if (quantize::score_classes(outputs[i].shape) > 1) {
        report_.score_output = model_->outputs()[i].name;
        return i;
      }
    return Error(Code::Usage,
                 "the model has no output that is a list of scores, so labels say "
                 "nothing about it")
        .file(report_.model.path)
        .hint("leave the labels out and compare with --reference MODEL");
  }

  Result<size_t> score_index(size_t sample, const RealOutput& scores) const {
    const int64_t index = labels_.of_sample[sample] + options_.integer("label-offset");
    const auto classes = static_cast<int64_t>(quantize::score_classes(scores.shape));
    if (index >= 0 && index < classes) return static_cast<size_t>(index);
    return Error(Code::BadCalibrationData,
                 fmt::format("label {} of sample {} has no score: the output has {} classes",
                             labels_.of_sample[sample], sample, classes))
        .file(data_)
        .hint("check the labels and --label-offset");
  }

  // Whether the answer is right.
  Result<bool> add_score(size_t sample, size_t output, const std::vector<RealOutput>& outputs,
                         quantize::ClassificationScore& score) {
    // The model's own output is there: it was found in it.
    if (output >= outputs.size())
      return Error(Code::ShapeMismatch, "the reference has fewer outputs than the model")
          .file(report_.reference->path);
    const RealOutput& scores = outputs[output];
    EC_TRY(const size_t index, score_index(sample, scores));
    const size_t classes = quantize::score_classes(scores.shape);
    // A batch above one repeats the image.
    return score.add(std::span(scores.values).first(classes), index);
  }

  // What the score would be where the first one belongs to no label.
  void add_shifted(size_t sample, const RealOutput& scores) {
    const size_t classes = quantize::score_classes(scores.shape);
    score_classes_ = classes;
    const int64_t index = labels_.of_sample[sample] + 1;
    if (options_.is_given("label-offset") || index < 0 || index >= static_cast<int64_t>(classes))
      return;
    shifted_score_.add(std::span(scores.values).first(classes), static_cast<size_t>(index));
  }

  // Brings both into the order of the reference: output by output, and in its dimensions.
  Status compare(std::vector<RealOutput>& got, std::vector<RealOutput>& expected) {
    if (report_.outputs.empty()) {
      EC_CHECK_OK(pair_outputs(got.size(), expected.size()));
      agreement_.resize(pairs_.size());
      errors_.resize(pairs_.size());
    }
    std::vector<RealOutput> got_paired, expected_paired;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      expected_paired.push_back(expected[pairs_[i].second]);
      const RealOutput& e = expected_paired.back();
      got_paired.push_back(in_order_of(got[pairs_[i].first], e.shape));
      const RealOutput& g = got_paired.back();
      if (g.values.size() != e.values.size())
        return Error(Code::ShapeMismatch,
                     fmt::format("output '{}' is {}, the reference's {}",
                                 printable(report_.outputs[i].name), Shape::of(g.shape).text(),
                                 Shape::of(e.shape).text()))
            .file(report_.model.path)
            .hint("compare the model with the one that it was made from");
      errors_[i].add(e.values, g.values);
      const std::optional<size_t> axis = reference_->softmax_axes()[pairs_[i].second];
      if (const auto lists = quantize::score_lists(e.shape, axis))
        agreement_[i].add(e.values, g.values, *lists);
    }
    got = std::move(got_paired);
    expected = std::move(expected_paired);
    return {};
  }

  // Names of the outputs that are compared, in their order.
  std::vector<std::string> compared_names() const {
    std::vector<std::string> names;
    if (reference_)
      for (const auto& pair : pairs_) names.push_back(reference_->outputs()[pair.second].name);
    else
      for (const TensorDescription& output : model_->outputs()) names.push_back(output.name);
    return names;
  }

  void start_task() {
    std::optional<JudgedNetwork> reference;
    if (reference_) reference = JudgedNetwork{&*reference_, reference_preprocessing_};
    task_.start({&*model_, preprocessing_}, std::move(reference), compared_names());
  }

  // By name where all names are the reference's, else by position.
  Status pair_outputs(size_t count, size_t expected) {
    const auto& own = model_->outputs();
    const auto& theirs = reference_->outputs();
    for (size_t i = 0; i < count; ++i)
      for (size_t k = 0; k < expected; ++k)
        if (own[i].name == theirs[k].name) pairs_.emplace_back(i, k);
    if (pairs_.size() != count) {
      if (count != expected)
        return Error(Code::ShapeMismatch,
                     fmt::format("the model has {} outputs, the reference {}", count, expected))
            .file(report_.model.path)
            .hint("compare the model with the one that it was made from");
      pairs_.clear();
      for (size_t i = 0; i < count; ++i) pairs_.emplace_back(i, i);
    }
    for (const auto& [i, k] : pairs_) report_.outputs.push_back({own[i].name, {}, std::nullopt});
    return {};
  }

  // Folders of pictures are classes for classifiers alone.
  void drop_folders_of_detectors(const std::vector<RealOutput>& outputs) {
    if (!reference_ || !labels_of_folders_) return;
    for (const RealOutput& output : outputs)
      if (quantize::score_classes(output.shape) > 1) return;
    labels_ = {};
    report_.labels.clear();
    report_.classes.clear();
  }

  Status run_samples() {
    const size_t wanted =
        options_.integer("samples") > 0 ? static_cast<size_t>(options_.integer("samples")) : size_;
    const size_t count = std::min(size_, wanted);
    std::optional<size_t> scored;
    for (size_t k = 0; k < count; ++k) {
      // Evenly over the order, so that every class of a sorted set is met.
      const size_t sample = (2 * k + 1) * size_ / (2 * count);
      EC_TRY(std::vector<RealOutput> got, model_->run(sample));
      if (k == 0) drop_folders_of_detectors(got);
      const bool labelled = !labels_.of_sample.empty();
      if (labelled && !scored) {
        EC_TRY(scored, score_output(got));
      }
      bool right = false, right_before = false;
      if (labelled) {
        EC_TRY(right, add_score(sample, *scored, got, score_));
        add_shifted(sample, got[*scored]);
      }
      std::vector<RealOutput> expected;
      if (reference_) {
        EC_TRY(expected, reference_->run(sample));
        if (labelled) {
          EC_TRY(right_before, add_score(sample, *scored, expected, reference_score_));
          changed_.add(right, right_before);
        }
        EC_CHECK_OK(compare(got, expected));
      }
      if (!task_.started()) start_task();
      EC_CHECK_OK(task_.add(model_->sample_name(sample), got, expected));
      report_progress("evaluating", static_cast<int64_t>(k + 1), static_cast<int64_t>(count));
    }
    report_.samples = static_cast<int64_t>(count);
    for (size_t i = 0; i < agreement_.size(); ++i) {
      report_.outputs[i].error = error_summary(errors_[i]);
      report_.outputs[i].top1_agreement = agreement_[i].share();
    }
    const auto mean_ms = [count](double seconds) {
      return count > 0 ? 1000 * seconds / static_cast<double>(count) : 0.0;
    };
    report_.model.run_milliseconds = mean_ms(model_->run_seconds());
    if (reference_) report_.reference->run_milliseconds = mean_ms(reference_->run_seconds());
    return task_.finish(report_, sink_);
  }

  // The name of the class at an index of the scores.
  std::string class_name(size_t index) const {
    const int64_t label = static_cast<int64_t>(index) - report_.label_offset;
    const std::vector<std::string>& names = report_.classes;
    if (label < 0 || label >= static_cast<int64_t>(names.size())) return std::to_string(label);
    return names[static_cast<size_t>(label)];
  }

  void fill_score(const quantize::ClassificationScore& score, EvaluatedModel& model) const {
    model.top1 = score.top1();
    model.top5 = score.top5();
    if (!options_.flag("confusion")) return;
    model.confusion.emplace();
    for (const auto& [pair, times] : score.confusion())
      model.confusion->push_back({class_name(pair.first), class_name(pair.second), times});
  }

  // Labels that count from 0 while the scores begin with a class of their own.
  void warn_of_label_offset() {
    if (!score_classes_ || options_.is_given("label-offset") || labels_.of_sample.empty()) return;
    const int64_t classes =
        labels_.names.empty()
            ? *std::max_element(labels_.of_sample.begin(), labels_.of_sample.end()) + 1
            : static_cast<int64_t>(labels_.names.size());
    if (static_cast<int64_t>(*score_classes_) != classes + 1) return;
    sink_.warn(
        Code::DoubtfulCalibration,
        fmt::format("the output has {} scores and the labels {} classes: with --label-offset "
                    "1 top-1 is {:.4f} in place of {:.4f}",
                    *score_classes_, classes, shifted_score_.top1(), score_.top1()),
        {}, "networks with a background class count classes from 1: add --label-offset 1");
  }

  void warn_of_assumptions() {
    if (report_.labelled()) warn_of_label_offset();
    if (!images_) return;
    quantize::AssumedData assumed;
    assumed.samples = &model_->samples();
    assumed.inputs = &model_->inputs();
    assumed.preprocessing = preprocessing_;
    // What the file says counts; bytes at the input are pixels.
    const bool known = report_.model.preprocessing_from != "nothing";
    assumed.normalisation_given = known || pixels_assumed_;
    for (const std::string_view name : {"mean", "std", "pixel-range"})
      assumed.normalisation_given = assumed.normalisation_given || options_.is_given(name);
    assumed.resize_given = options_.is_given("resize") ||
                           report_.model.preprocessing_from == "file" ||
                           report_.model.preprocessing_from == "other file";
    assumed.finds_objects = task_.finds_objects();
    quantize::warn_of_preprocessing(assumed, sink_);
  }

  void fill_scores() {
    if (!report_.labelled()) return;
    fill_score(score_, report_.model);
    if (!report_.reference) return;
    fill_score(reference_score_, *report_.reference);
    report_.changed =
        ChangedAnswersSummary{changed_.put_right, changed_.put_wrong, changed_.chance()};
  }

  const Registry& registry_;
  const Options& session_options_;  // as given
  Options options_;                 // with defaults
  DiagnosticSink& sink_;
  std::string data_;
  TaskEvaluation task_;
  Preprocessing given_, preprocessing_, reference_preprocessing_;
  std::optional<EvaluatedNetwork> model_, reference_;
  quantize::LabelFile label_file_;
  std::vector<fs::path> listed_;
  quantize::Labels labels_;
  bool labels_of_folders_ = false;
  size_t size_ = 0;
  std::vector<std::pair<size_t, size_t>> pairs_;  // outputs of the model and of the reference
  std::vector<quantize::Agreement> agreement_;
  std::vector<quantize::ErrorStatistics> errors_;  // by pair of outputs
  quantize::ClassificationScore score_, reference_score_;
  quantize::ClassificationScore shifted_score_;  // with --label-offset 1
  std::optional<size_t> score_classes_;
  bool images_ = false, pixels_assumed_ = false;
  quantize::ChangedAnswers changed_;
  EvaluateReport report_;
};

}  // namespace

Result<EvaluateReport> evaluate_model(const Registry& registry, const ModelRef& model,
                                      const Options& options, DiagnosticSink& sink) {
  return Evaluation(registry, options, sink).run(model);
}

}  // namespace ec
