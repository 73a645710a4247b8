# Follows the example of docs/grpc/stubs.md: asks the services of a sandbox through stubs of grpcio, and prints what came.
# It judges nothing.
import importlib
import json
import pathlib
import sys
import time
import uuid

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.json_format import MessageToDict
from health.v1 import health_pb2, health_pb2_grpc
from payweave.accounts.v1 import accounts_pb2, accounts_pb2_grpc
from payweave.delivery.v1 import delivery_pb2, delivery_pb2_grpc
from reflection.v1 import reflection_pb2, reflection_pb2_grpc

asked = json.load(sys.stdin)
project_id, payment_id, token = asked["project_id"], asked["payment_id"], asked["token"]
metadata = [("authorization", f"Bearer {token}")]
addresses = {part: url.removeprefix("http://") for part, url in asked["grpc"].items()}
channels = {part: grpc.insecure_channel(address) for part, address in addresses.items()}
payments = payments_pb2_grpc.PaymentsServiceStub(channels["payments"])
accounts = accounts_pb2_grpc.AccountsServiceStub(channels["accounts"])
deliveries = delivery_pb2_grpc.DeliveryServiceStub(channels["delivery"])
tail_request = delivery_pb2.TailDeliveriesRequest(project_id=project_id)
payment_request = payments_pb2.GetPaymentRequest(project_id=project_id, payment_id=payment_id)


def imported_modules():
    """Every module that protoc made can be imported."""
    stubs = pathlib.Path(asked["stubs"])
    names = [".".join(path.relative_to(stubs).with_suffix("").parts) for path in stubs.rglob("*_pb2*.py")]
    for name in names:
        importlib.import_module(name)
    return sorted(name for name in names if name.startswith("payweave."))


def refusal(call):
    """Code, reason and fields of the error that a call ends with."""
    try:
        call()
    except grpc.RpcError as error:
        return {"code": error.code().name, "reason": reason_of(error), "fields": fields_of(error)}
    raise AssertionError("was answered")


def fields_of(error):
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    bad = error_details_pb2.BadRequest()
    found = [detail for detail in status_pb2.Status.FromString(details).details if detail.Unpack(bad)]
    return [violation.field for violation in bad.field_violations] if found else []


def by_old_name():
    call = channels["payments"].unary_unary(
        "/payments.v1.PaymentsService/GetPayment",
        request_serializer=payments_pb2.GetPaymentRequest.SerializeToString,
        response_deserializer=payments_pb2.GetPaymentResponse.FromString,
    )
    return call(payment_request, metadata=metadata, timeout=5).payment.payment_id


def first_of_tail():
    """The first message of a stream of the service, and how the stream ends when it is cancelled."""
    tail = deliveries.TailDeliveries(tail_request, metadata=metadata, timeout=20)
    first = next(tail).WhichOneof("event")
    tail.cancel()
    return {"first": first, "ended": refusal(lambda: next(tail))["code"]}


def late_tail():
    """How a stream ends at its deadline."""
    tail = deliveries.TailDeliveries(tail_request, metadata=metadata, timeout=0.5)
    return refusal(lambda: list(tail))["code"]


def uploaded():
    """The state of an account that was made by a stream of the client."""
    part = accounts_pb2.UploadPersonalAccountRequest
    image = bytes.fromhex("89504e470d0a1a0a00")
    profile = accounts_pb2.PersonalAccountProfile(**asked["profile"])
    parts = [
        part(header=accounts_pb2.UploadHeader(project_id=project_id, request_id=str(uuid.uuid4()))),
        part(artefact=accounts_pb2.ArtefactBeginning(field="selfie", media_type="image/png")),
        part(chunk=image),
        part(profile=profile),
    ]
    account = accounts.UploadPersonalAccount(iter(parts), metadata=metadata, timeout=10).account
    return MessageToDict(account)["accountStatus"]


def serving(service):
    stub = health_pb2_grpc.HealthStub(channels["payments"])
    request = health_pb2.HealthCheckRequest(service=service)
    watch = stub.Watch(request, timeout=10)
    states = [stub.Check(request, timeout=5).status, next(watch).status]
    watch.cancel()
    return [health_pb2.HealthCheckResponse.ServingStatus.Name(state) for state in states]


def reflected(symbol):
    """Files that reflection gives for a symbol."""
    stub = reflection_pb2_grpc.ServerReflectionStub(channels["payments"])
    request = reflection_pb2.ServerReflectionRequest(file_containing_symbol=symbol)
    [answer] = stub.ServerReflectionInfo(iter([request]), metadata=metadata, timeout=5)
    files = answer.file_descriptor_response.file_descriptor_proto
    return [FileDescriptorProto.FromString(file).name for file in files]


def early():
    """Code of a call whose deadline has passed, and the seconds until it ended."""
    started = time.monotonic()
    code = refusal(lambda: payments.GetPayment(payment_request, metadata=metadata, timeout=0.000001))["code"]
    return {"code": code, "in_time": time.monotonic() - started < 5}


get = lambda request, how: payments.GetPayment(request, metadata=how, timeout=5)
seen = {
    "modules": imported_modules(),
    "payment": MessageToDict(get_payment(addresses["payments"], token, project_id, payment_id)),
    "unknown": get_payment(addresses["payments"], token, project_id, str(uuid.uuid4())),
    "malformed": refusal(lambda: get(payments_pb2.GetPaymentRequest(project_id="no", payment_id="no"), metadata)),
    "stranger": refusal(lambda: get(payment_request, [])),
    "old": by_old_name(),
    "early": early(),
    "tail": first_of_tail(),
    "late_tail": late_tail(),
    "uploaded": uploaded(),
    "health": {name: serving(name) for name in ["", "payweave.payments.v1.PaymentsService"]},
    "reflection": {name: reflected(name) for name in ["payweave.payments.v1.PaymentsService", "google.rpc.ErrorInfo"]},
}
print(json.dumps(seen))
