<?php // The shop of shop-node in PHP without an SDK, for the web server that PHP has for development.

$shopUrl = "http://127.0.0.1:{$_SERVER['SERVER_PORT']}";
$dataDir = getenv('PAYWEAVE_DATA_DIR') ?: __DIR__ . '/../../.payweave';
$sandbox = json_decode(file_get_contents("$dataDir/sandbox.json"), true);

class PayweaveError extends RuntimeException
{
    public function __construct(public int $status, array $answer)
    {
        $requestId = $answer['request_id'] ?? 'without a response';
        parent::__construct(($answer['errorCode'] ?? $status) . ': ' . ($answer['message'] ?? '') . " (request $requestId)");
    }
}

/** Sends a call. After a transient error it sends the same body and ids again, up to three times. */
function payweave(string $method, string $path, string $version, array $fields): array
{
    global $sandbox;
    $fields = ['api_key' => $sandbox['projects']['demo']['api_key']] + $fields;
    $query = http_build_query(['version' => $version] + ($method === 'GET' ? $fields : []));
    $body = $method === 'POST' ? ['content' => json_encode($fields)] : [];
    for ($attempt = 0; ; $attempt++) {
        [$status, $answer, $retryAfter] = send($method, "{$sandbox['base_url']}$path?$query", $body);
        if ($status >= 200 && $status < 300) {
            return $answer;
        }
        if ($attempt === 3 || !in_array($status, [0, 408, 429, 500, 502, 503, 504])) {
            throw new PayweaveError($status, $answer);
        }
        usleep(max($retryAfter * 1_000_000, random_int(0, 250_000 * 2 ** $attempt)));
    }
}

/** Sends one request. Without a whole response the status is 0: whether it was executed is not known. */
function send(string $method, string $url, array $body): array
{
    global $sandbox;
    $http = ['method' => $method, 'timeout' => 30, 'ignore_errors' => true, 'follow_location' => 0, 'header' => [
        'PW-subscription-key: ' . $sandbox['projects']['demo']['subscription_key'],
        'PW-origin-country: US',
        'PW-request-date: ' . gmdate('Y-m-d H:i:s'),
        'PW-ip-address: 127.0.0.1',
        'User-Agent: shop/1.0',
        'Content-Type: application/json',
    ]];
    $text = @file_get_contents($url, false, stream_context_create(['http' => $http + $body]));
    $head = implode("\n", $http_response_header ?? []);
    $retryAfter = preg_match('/^retry-after: (\d+)/mi', $head, $match) ? (int) $match[1] : 0;
    $status = preg_match('~^HTTP/\S+ (\d+)~', $head, $match) ? (int) $match[1] : 0;
    $answer = json_decode($text ?: '', true);
    if (is_array($answer)) {
        return [$status, $answer, $retryAfter];
    }
    // A success that was cut off, or that a proxy has made, is no response.
    return [$status < 300 ? 0 : $status, ['errorCode' => 'NO_RESPONSE', 'message' => parse_url($url, PHP_URL_PATH)], $retryAfter];
}

/** The id of the order is in the form: a second click on "Buy" is the same order, and the same payment. */
function buy(): void
{
    global $shopUrl;
    $payer = ['mobile_number' => $_POST['mobile_number'], 'payment_channel' => 'payment_link', 'payment_method' => 'wallet'];
    $created = payweave('POST', '/payments/request', '2024-10-01', ['transaction_request' => [
        'id' => $_POST['order'],
        'amount' => '25.00',
        'currency' => 'USD',
        'description' => 'A mug',
        'payers' => [$payer],
        'urls' => ['success' => $shopUrl, 'error' => $shopUrl, 'callback' => "$shopUrl/webhook"],
    ]]);
    header("Location: {$created['payment_details']['payers'][0]['url']}", true, 303);
}

/** A push is a hint: its payment is read, and neither its body nor its order is believed. */
function receive(): void
{
    $fields = ['payment_details_id' => $_SERVER['HTTP_PW_PAYMENT_DETAILS_ID'] ?? ''];
    try {
        $payment = payweave('GET', '/payments/status', '2024-10-01', $fields);
    } catch (PayweaveError $error) {
        if ($error->status !== 400 && $error->status !== 404) {
            throw $error;
        }
        http_response_code(400);
        return;
    }
    $order = $payment['transaction_request']['id'];
    $status = $payment['payment_details']['status'];
    $isFirst = $status === 'paid' && isFirst($order);
    error_log("$order is $status" . ($isFirst ? ': ship it' : ''));
    http_response_code(204);
}

/**
 * Several pushes can find one payment paid, and each can repeat. A real shop ships in one transaction of its database: it changes
 * the order from open to shipped, and ships only if the order was open. Here the first one makes the file of the order.
 */
function isFirst(string $order): bool
{
    $folder = sys_get_temp_dir() . '/shop-php-shipped';
    @mkdir($folder);
    return @fopen("$folder/" . hash('sha256', $order), 'x') !== false;
}

function refund(): void
{
    $fields = ['payment_details_id' => $_POST['payment'], 'reason' => 'Returned by the customer'];
    payweave('POST', '/payments/refund', '2026-12-01', $fields);
    header('Location: /', true, 303);
}

function page(): void
{
    $rows = '';
    foreach (payweave('GET', '/payments/list', '2026-12-01', ['limit' => 20])['payments'] as $payment) {
        $button = "<button name=\"payment\" value=\"{$payment['payment_details_id']}\">Refund</button>";
        $form = $payment['status'] === 'paid' ? "<form method=\"post\" action=\"/refund\">$button</form>" : '';
        $order = htmlspecialchars($payment['transaction_id']);
        $rows .= "<tr><td>$order<td>{$payment['amount']} {$payment['currency']}<td>{$payment['status']}<td>$form";
    }
    $order = 'mug-' . bin2hex(random_bytes(16));
    echo <<<HTML
        <!doctype html><title>Mugs</title><h1>Mugs</h1>
        <form method="post" action="/buy">
          <input type="hidden" name="order" value="$order">
          <label>Your mobile number <input name="mobile_number" value="+12025550100"></label>
          <button>Buy a mug for 25.00 USD</button>
        </form>
        <table>$rows</table>
        HTML;
}

$routes = ['GET /' => 'page', 'POST /buy' => 'buy', 'POST /webhook' => 'receive', 'POST /refund' => 'refund'];
$route = $_SERVER['REQUEST_METHOD'] . ' ' . parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
try {
    isset($routes[$route]) ? $routes[$route]() : http_response_code(404);
} catch (PayweaveError $error) {
    error_log($error->getMessage());
    http_response_code(502);
    echo $error->getMessage(), "\n";
}
