"""A folder with a tiny target and a drafter that agrees with it now and then."""

import pytest


@pytest.fixture(scope="session")
def tiny_models(tiny_model, derived_model, tmp_path_factory):
    target = tiny_model(layers=3, positions=256, seed=2)
    folder = tmp_path_factory.mktemp("models")
    (folder / "target").symlink_to(target)
    (folder / "drafter").symlink_to(derived_model(target, noise=0.05, seed=3))
    return folder
