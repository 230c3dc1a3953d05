"""POST deployments/NAME/rollback: asks the controller of Deployments to bring one back to a revision."""

from __future__ import annotations

from watchkeeper.apis.apps.rollback import request_rollback, validate_rollback
from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry.pods import change_stored
from watchkeeper.registry.rest import Context, CreateOptions, Object, Result
from watchkeeper.registry.store import Store


class RollbackStore:
    """Notes the requests in the Deployments."""

    def __init__(self, deployments: Store) -> None:
        self._deployments = deployments

    async def create_named(self, ctx: Context, name: str, obj: Object, options: CreateOptions) -> Result:
        """Note a request. Raises what is wrong with it."""
        asked = obj.get("name") or ""
        if wrong := validate_rollback(obj):
            raise errors.invalid(GroupKind("apps", "DeploymentRollback"), asked, wrong)
        if name != asked:
            raise errors.bad_request("name in URL does not match name in DeploymentRollback object")
        if options.validate is not None:
            await options.validate(obj)
        await change_stored(
            self._deployments, ctx, name, lambda found: request_rollback(found, obj), dry_run=options.dry_run
        )
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "message": f'rollback request for deployment "{name}" succeeded',
            "code": 200,
        }
