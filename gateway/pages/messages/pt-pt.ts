// The texts of hosted pages in the Portuguese of Portugal; no markup.

import type { Messages } from './en.ts'
/** Portuguese as written in Portugal. */
export const ptPt: Messages = {
  languageName: 'Português (Portugal)',
  chooseLanguage: 'Idioma',
  sandbox: 'Ambiente de testes: aqui não circula dinheiro real.',
  sandboxMark: 'TESTE',

  openTitle: 'Pedido de pagamento',
  refusedTitle: 'Pagamento recusado. Pode tentar de novo.',
  refusedText: 'Não foi cobrado qualquer valor.',
  attemptsLeft: 'Tentativas restantes: {count}.',
  lastAttempt: 'Esta é a sua última tentativa.',
  partOfText: 'Esta é a sua parte de um total de {whole}.',
  partlyPaidText: 'Pago: {paid} de {whole}. A sua parte é {amount}.',
  processingTitle: 'O seu pagamento está a ser processado',
  processingText: 'Aguarde e não pague outra vez.',
  updatesItself: 'Esta página atualiza-se automaticamente.',
  checkAgain: 'Verificar novamente',
  paidTitle: 'Pago',
  paidText: 'Obrigado. {merchant} recebeu o seu pagamento.',
  yourPartPaidTitle: 'A sua parte está paga',
  yourPartPaidText:
    'Obrigado. Pago até agora: {paid} de {whole}. Outras pessoas ainda têm de pagar {rest}.',
  paidOfWhole: 'Pago: {paid} de {whole}',
  cancelledTitle: 'Este pagamento foi cancelado',
  cancelledText: 'Não foi cobrado qualquer valor. Esta ligação já não é válida.',
  expiredTitle: 'Este pedido de pagamento expirou',
  expiredText:
    'Não foi cobrado qualquer valor. Esta ligação já não é válida. Peça uma nova a {merchant}.',
  failedTitle: 'Este pagamento falhou',
  failedText:
    'Não foi cobrado qualquer valor. Esta ligação já não é válida. Peça uma nova a {merchant}.',
  lateMoneyText:
    'O seu dinheiro chegou depois de este pagamento ter falhado. Esta ligação já não é válida.',
  refundedTitle: 'Reembolsado',
  refundedToWallet: 'O valor de {total} é devolvido à sua carteira.',
  refundedToCard: 'O valor de {total} é devolvido ao seu cartão.',
  refundedToYou: 'O valor de {total} é-lhe devolvido.',
  refundHeldTitle: 'Reembolso pendente',
  refundHeldText:
    'Não conseguimos devolver-lhe {total}. Esse valor continua guardado para si. Contacte {merchant}.',

  amount: 'Montante',
  fee: 'Taxa',
  total: 'Total',
  toPay: 'Total a pagar',
  totalPaid: 'Total pago',
  payUntil: 'Pagar até',
  timeLeft: 'faltam {time}',
  waysToPay: 'Métodos de pagamento',

  cash: 'Numerário',
  card: 'Cartão',
  wallet: 'Carteira móvel',
  credit: 'Cartão de crédito',
  debit: 'Cartão de débito',
  qr_code: 'Código QR',
  walletInstead: 'Pagar com carteira móvel',
  cardInstead: 'Pagar com cartão',

  scanTitle: 'Ler o código para pagar',
  scanText: 'Leia este código com a câmara de um telemóvel ou abra esta ligação:',
  qrLabel: 'Código QR da ligação de pagamento',
  payHere: 'Pagar neste dispositivo',

  walletTitle: 'Pagar com a sua carteira móvel',
  walletOf: 'Carteira de {payer}',
  notYou: 'Esta carteira não é sua?',
  notYouText: 'Não introduza aqui nenhum PIN. Peça a {merchant} uma ligação em seu nome.',
  pinLabel: 'PIN da carteira',
  pinHint: '4 a 12 dígitos',
  mistakeTitle: 'Há um problema',
  pinMistake: 'Introduza um PIN de 4 a 12 dígitos. Não foi cobrado qualquer valor.',
  offline:
    'Está sem ligação à Internet. Nada foi enviado. Tente de novo quando voltar a ter Internet.',
  sending: 'A enviar o seu pagamento. Aguarde e não feche esta página.',
  pay: 'Pagar {total}',

  cardTitle: 'Pagar com cartão',
  cardFrame: 'Formulário de cartão do prestador de pagamentos',
  cardUnavailable: 'O formulário de cartão não está disponível agora. Tente dentro de um minuto.',
  cardNotOffered:
    'Este pagamento não pode ser feito com cartão. Escolha outro método de pagamento.',

  agentTitle: 'Pagar num agente',
  agentText: 'Dirija-se a um agente com {total} em numerário e apresente este código.',
  agentCardText: 'Dirija-se a um agente com o seu cartão e apresente este código.',
  barcodeLabel: 'Código de barras do código de pagamento',
  print: 'Imprimir esta página',

  paidOn: 'Pago em',
  refundedOn: 'Reembolsado em',
  paidWith: 'Pago com',
  payer: 'Pagador',
  reference: 'Referência',
  receiptNumber: 'Recibo',
  checkReceipt: 'Leia este código ou abra esta ligação para verificar o recibo:',
  receiptQr: 'Código QR da ligação para este recibo',
  receiptTitle: 'Recibo',
  receiptText:
    'Este é o pagamento tal como consta agora nos nossos registos. Compare-o com o recibo que lhe foi entregue.',
  refundedAmount: 'Valor reembolsado',
  refundDue: 'Por reembolsar',
  openReceipt: 'Recibo',
  downloadReceipt: 'Descarregar o recibo (PDF)',
  receiptNotFoundTitle: 'Não encontramos este recibo',

  refresh: 'Atualizar esta página',
  changed: 'O estado deste pagamento mudou.',
  showChange: 'Ver o que mudou',
  backToShop: 'Voltar à loja',
  openPage: 'Abrir a página de pagamento',
  help: 'Dúvidas?',
  contact: 'Contacto',

  cancel: 'Cancelar o pagamento',
  cancelTitle: 'Cancelar este pagamento?',
  cancelText: 'Não será cobrado qualquer valor. Deixará de poder pagar com esta ligação.',
  cancelYes: 'Sim, cancelar o pagamento',
  cancelNo: 'Não, voltar',

  notFoundTitle: 'Não encontramos este pagamento',
  notFoundText: 'Verifique se copiou a ligação inteira ou peça uma nova a quem a enviou.',
  unavailableTitle: 'Tente de novo',
  unavailableText: 'A página não está disponível neste momento.',
  notConfirmedTitle: 'Não conseguimos confirmar o seu pagamento',
  notConfirmedText:
    'Ainda pode vir a ser concluído. Abra a página de pagamento para ver o que aconteceu antes de pagar outra vez.',
  notSentTitle: 'O seu pagamento não foi enviado',
  notSentText: 'Não foi cobrado qualquer valor. Abra a página de pagamento e tente de novo.',
  walletNotOfferedTitle: 'Este pagamento não pode ser feito com carteira móvel',
  walletNotOfferedText:
    'Não foi cobrado qualquer valor. Abra a página de pagamento e escolha outro método de pagamento.',
  foreignFormTitle: 'Abra a ligação outra vez',
  foreignFormText:
    'Esta página esteve aberta demasiado tempo. Não foi efetuado qualquer pagamento.',
  tooManyTitle: 'Demasiados pedidos',
  tooManyText: 'Aguarde um momento e tente de novo.',
}
