# SPDX-License-Identifier: Apache-2.0
"""Support vector machines of sklearn in the form in which skl2onnx writes them: for classical.py."""
import numpy as np

from classical import FLOAT, INT64, Case, floats, made_rows, ml


def machine(model, sign=1):
    """The attributes that all have. sign: -1 for two classes, whose decisions sklearn turns round."""
    return {"kernel_type": model.kernel.upper(), "kernel_params": floats([model._gamma, model.coef0, model.degree]),
            "support_vectors": floats(model.support_vectors_), "coefficients": floats(sign * model.dual_coef_),
            "rho": floats(sign * model.intercept_)}


def classifier(case, model, train, labels, test):
    """Fits and saves it. Without probabilities the scores are the decisions, of two classes with both signs."""
    model.fit(train, labels)
    two = len(model.classes_) == 2
    attributes = machine(model, -1 if two else 1)
    case.wanted = {"label": model.predict(test)}
    if model.probability:
        attributes.update(prob_a=floats(model.probA_), prob_b=floats(model.probB_))
        case.wanted["scores"] = model.predict_proba(test)
    else:
        decisions = model.decision_function(test)
        case.wanted["scores"] = np.stack([decisions, -decisions], axis=1) if two else decisions
    case.save([ml("SVMClassifier", ["X"], ["label", "scores"], classlabels_ints=[int(label) for label in model.classes_],
                  vectors_per_class=[int(count) for count in model.n_support_], post_transform="NONE", **attributes)],
              {"label": INT64, "scores": FLOAT}, test)


def regressor(case, model, train, wanted, test, **attributes):
    """one_class: which rows are like those of the training, as sklearn predicts."""
    model.fit(train, wanted)
    case.wanted = {"variable": (model.predict(test) if wanted is not None or attributes else
                                model.decision_function(test))[:, None]}
    case.save([ml("SVMRegressor", ["X"], ["variable"], n_supports=len(model.support_), post_transform="NONE",
                  **machine(model), **attributes)], {"variable": FLOAT}, test)


def svm_cases(folder, random):
    from sklearn.svm import SVC, SVR, OneClassSVM
    x, scores = made_rows(random, 260, 7, 4)
    train, test = x[:180], x[180:]
    many, two = scores[:180].argmax(axis=1) * 3 + 1, np.where(scores[:180, 0] > 0.3, 9, 5)
    seed = int(random.integers(1 << 30))
    classifier(Case(folder, "svm-rbf-probabilities"), SVC(probability=True, random_state=seed), train, many, test)
    classifier(Case(folder, "svm-poly-pairs"), SVC(kernel="poly", degree=3, coef0=0.75, decision_function_shape="ovo"), train, many,
               test.astype("f8"))
    classifier(Case(folder, "svm-linear-two"), SVC(kernel="linear"), train, two, test)
    classifier(Case(folder, "svm-sigmoid-probabilities"), SVC(kernel="sigmoid", coef0=-0.25, gamma=0.1, probability=True,
                                                              random_state=seed), train, two, test)
    regressor(Case(folder, "svm-regressor"), SVR(gamma=0.2), train, scores[:180, 1], test)
    regressor(Case(folder, "svm-near"), OneClassSVM(nu=0.3), train, None, test)
    regressor(Case(folder, "svm-one-class"), OneClassSVM(kernel="poly", degree=2, coef0=1, nu=0.3), train, None, test, one_class=1)

    case = Case(folder, "svm-without-vectors")
    weights = random.standard_normal(7).astype("f4")
    case.wanted = {"variable": test @ weights[:, None].astype("f8") + 0.5}
    case.save([ml("SVMRegressor", ["X"], ["variable"], coefficients=floats(weights), rho=[0.5], n_supports=0,
                  kernel_params=[0.0, 0.0, 0.0])], {"variable": FLOAT}, test)
